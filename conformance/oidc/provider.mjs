// An OpenID provider for the tests: `node provider.mjs [HOST]` prints its URL, with 127.0.0.1 or a name of it as the host.
//
// It gives access tokens (JWT) to the client `ada` / `s3cret` for any resource. People sign in for the clients `console`, whose
// secret is `of the console: +/&`, and `console-public`, which has none, under any name; `ada` is in the group `operators`.
// `POST /rotate` gives it new keys, without the old ones; `POST /redirect?uri=…` says where people are sent back to.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const host = process.argv[2] ?? "127.0.0.1";
const server = createServer((request, response) => {
  const url = new URL(request.url, issuer());
  const at = `${request.method} ${url.pathname}`;
  if (at === "POST /rotate") {
    keys = fresh();
    start();
    response.end();
  } else if (at === "POST /redirect") {
    redirect = url.searchParams.get("uri");
    start();
    response.end();
  } else if (url.pathname.startsWith("/people/")) {
    meet(request, response).catch((why) => response.writeHead(500).end(String(why)));
  } else {
    provider.callback()(request, response);
  }
});

let keys = fresh();
let redirect = "http://127.0.0.1/nowhere";
let provider;

function issuer() {
  return `http://${host}:${server.address().port}`;
}

function fresh() {
  return [key("RS256"), key("ES256"), key("PS256")];
}

function key(algorithm) {
  const kind = algorithm === "ES256" ? ["ec", { namedCurve: "P-256" }] : ["rsa", { modulusLength: 2048 }];
  const jwk = generateKeyPairSync(...kind).privateKey.export({ format: "jwk" });
  return { ...jwk, kid: randomUUID(), use: "sig", alg: algorithm };
}

function start() {
  const forPeople = { grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: [redirect] };
  provider = new Provider(issuer(), {
    jwks: { keys },
    cookies: { keys: [randomUUID()] },
    clients: [
      { client_id: "ada", client_secret: "s3cret", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
      { client_id: "console", client_secret: "of the console: +/&", ...forPeople },
      { client_id: "console-public", token_endpoint_auth_method: "none", ...forPeople },
    ],
    scopes: ["openid", "agents", "other"],
    claims: { openid: ["sub"], groups: ["groups"] },
    // What a scope is about stands in the ID token itself.
    conformIdTokenClaims: false,
    findAccount: (_context, name) => ({
      accountId: name,
      claims: () => ({ sub: name, groups: name === "ada" ? ["staff", "operators"] : ["staff"] }),
    }),
    // Nobody is asked whether the console may know who they are.
    loadExistingGrant: async (context) => {
      const { client, params, session } = context.oidc;
      const grant = new context.oidc.provider.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope(params.scope);
      await grant.save();
      return grant;
    },
    interactions: { url: (_context, interaction) => `/people/${interaction.uid}` },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        // The resource's path says how its tokens are signed: `https://agents.example.com/ES256`.
        getResourceServerInfo: (_context, resource) => ({
          scope: "agents other",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: new URL(resource).pathname.slice(1) || "RS256" } },
        }),
      },
    },
  });
}

// Asks somebody for a name, and takes it.
async function meet(request, response) {
  const { uid } = await provider.interactionDetails(request, response);
  if (request.method === "POST") {
    let body = "";
    for await (const piece of request) body += piece;
    const form = new URLSearchParams(body);
    const result = form.has("decline")
      ? { error: "access_denied", error_description: "Declined" }
      : { login: { accountId: form.get("name") } };
    await provider.interactionFinished(request, response, result);
    return;
  }
  response.setHeader("content-type", "text/html");
  response.end(`<!doctype html><title>The provider</title><link rel="icon" href="data:,">
    <h1>The provider</h1><form method="post" action="/people/${uid}"><input name="name" aria-label="Name">
    <button>Sign in</button> <button name="decline" value="yes">Decline</button></form>`);
}

server.listen(0, "127.0.0.1", () => {
  start();
  console.log(issuer());
});

// Nobody is left to serve when whoever started this is gone.
process.stdin.on("end", () => process.exit(0)).resume();
