// An OpenID provider for the tests: `node provider.mjs` prints its URL. It gives access tokens (JWT) to the client
// `ada` / `s3cret` for any resource; `POST /rotate` gives it new keys, without the old ones.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const server = createServer((request, response) => {
  if (request.method === "POST" && request.url === "/rotate") {
    callback = provider();
    response.end();
    return;
  }
  callback(request, response);
});

let callback;

function key(algorithm) {
  const kind = algorithm === "ES256" ? ["ec", { namedCurve: "P-256" }] : ["rsa", { modulusLength: 2048 }];
  const jwk = generateKeyPairSync(...kind).privateKey.export({ format: "jwk" });
  return { ...jwk, kid: randomUUID(), use: "sig", alg: algorithm };
}

function provider() {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  return new Provider(issuer, {
    jwks: { keys: [key("RS256"), key("ES256"), key("PS256")] },
    cookies: { keys: [randomUUID()] },
    clients: [
      { client_id: "ada", client_secret: "s3cret", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
    ],
    scopes: ["agents", "other"],
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
  }).callback();
}

server.listen(0, "127.0.0.1", () => {
  callback = provider();
  console.log(`http://127.0.0.1:${server.address().port}`);
});

// Nobody is left to serve when whoever started this is gone.
process.stdin.on("end", () => process.exit(0)).resume();
