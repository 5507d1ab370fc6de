// Keys, acting in place, live updates. Every page reads and every form works without it.
'use strict';
(() => {
    const one = (selector, root = document) => root.querySelector(selector);
    const all = (selector, root = document) => [...root.querySelectorAll(selector)];
    const parse = (html) => new DOMParser().parseFromString(html, 'text/html');

    // The link of `baton login`: the code stands behind the #, where no server and no log sees it.
    const login = one('#login');
    if (login) {
        const code = location.hash.slice(1);
        if (code) {
            history.replaceState(null, '', location.pathname + location.search);
            login.elements.code.value = code;
            login.requestSubmit();
        }
        return;
    }
    if (!one('#main[data-here]')) return;

    // ---- what is said of an act ------------------------------------------------------------------------------------

    function notice(text, bad) {
        const line = document.createElement('p');
        line.className = bad ? 'notice bad' : 'notice';
        line.textContent = text;
        one('#notice').replaceChildren(line);
    }

    function needs(count) {
        const chip = one('#needs');
        if (!chip) return;
        chip.textContent = count;
        chip.hidden = count === 0;
        const main = one('#main');
        const plain = main.dataset.title;
        const title = count === 0 ? plain : main.dataset.here === '/console' ? `${plain} (${count})` : `(${count}) ${plain}`;
        document.title = `${title} · Baton`;
    }

    document.addEventListener('submit', async (event) => {
        const form = event.target;
        if (!form.matches('form[data-act]')) return;
        event.preventDefault();
        const buttons = all('button', form);
        const body = new URLSearchParams(new FormData(form, event.submitter));
        buttons.forEach((button) => { button.disabled = true; });
        try {
            const response = await fetch(form.getAttribute('action'), { method: 'POST', body });
            const page = parse(await response.text());
            if (!one('#main[data-here]', page)) {
                notice(`${one('h1', page)?.textContent ?? 'Not done'}. ${one('main p', page)?.textContent ?? ''}`, true);
                return;
            }
            acted(form, page);
        } catch {
            notice('The node was not reached; nothing is known of what became of this. Look again when it is back.', true);
        } finally {
            buttons.forEach((button) => { button.disabled = false; });
        }
    });

    // The item that was acted on leaves with a line that says what was done.
    function acted(form, page) {
        const said = one('#notice > *', page);
        const item = form.closest('[data-list=needs] [data-item]');
        needs(Number(one('#needs', page)?.textContent ?? 0));
        form.closest('details')?.removeAttribute('open');
        if (said && item && !said.matches('.bad')) {
            const line = document.createElement('p');
            line.className = 'done';
            line.setAttribute('role', 'status');
            line.append(...said.childNodes);
            const next = neighbour(item, 1) ?? neighbour(item, -1);
            item.replaceWith(line);
            focus(next);
            merge(page);
        } else {
            one('#notice').replaceChildren(...(said ? [said] : []));
            if (document.activeElement && form.contains(document.activeElement)) document.activeElement.blur();
            form.reset();
            merge(page, true);
            scrollTo({ top: 0 });
        }
    }

    // ---- what changed ----------------------------------------------------------------------------------------------

    // Somebody writes in it, has opened something in it, or has marked some of it.
    function busy(element) {
        const active = document.activeElement;
        const writes = active && element.contains(active) && active.matches('input, textarea, select');
        const written = all('input[type=text], textarea', element).some((field) => field.value !== field.defaultValue);
        const marked = !getSelection().isCollapsed && getSelection().containsNode(element, true);
        return writes || written || marked || (one('details[open]', element) !== null && !element.matches('[data-settled]'));
    }

    // Makes `old` say what `next` says and leaves in place what is the same: nothing is taken away under a finger.
    function morph(old, next) {
        if (old.nodeName !== next.nodeName) {
            old.replaceWith(next.cloneNode(true));
            return;
        }
        if (old.nodeType !== Node.ELEMENT_NODE) {
            if (old.data !== next.data) old.data = next.data;
            return;
        }
        for (const { name, value } of [...next.attributes]) {
            if (old.getAttribute(name) !== value) old.setAttribute(name, value);
        }
        for (const { name } of [...old.attributes]) {
            const ours = name === 'open' || name === 'data-label';
            if (!ours && !next.hasAttribute(name)) old.removeAttribute(name);
        }
        const had = [...old.childNodes].filter((child) => !child.classList?.contains('copy'));
        const has = [...next.childNodes];
        has.forEach((child, at) => { if (had[at]) morph(had[at], child); else old.append(child.cloneNode(true)); });
        had.slice(has.length).forEach((child) => child.remove());
    }

    function merge(page, forced) {
        for (const region of all('#head, [data-region]')) {
            const next = page.getElementById(region.id);
            if (next && (forced || !busy(region))) {
                morph(region, next);
                dress(region);
            }
        }
        mergeList(page);
    }

    // The list does not move under the pointer: what is there is renewed in its place, what is new waits.
    let waiting = null;
    function mergeList(page) {
        const list = one('#list');
        const next = page.getElementById('list');
        if (!list || !next) return;
        let fresh = 0;
        for (const item of all('[data-item]', next)) {
            const known = document.getElementById(item.id);
            if (!known) fresh += 1;
            else if (!busy(known)) morph(known, item);
        }
        if (list.dataset.list === 'needs') {
            for (const item of all('[data-item]:not(.gone)', list)) {
                if (!next.querySelector(`#${CSS.escape(item.id)}`) && !busy(item)) goes(item);
            }
        }
        waiting = next;
        const button = one('#fresh');
        if (fresh > 0 && !one('[data-item]', list)) return showFresh();
        button.hidden = fresh === 0;
        button.textContent = `${fresh} new`;
    }

    function goes(item) {
        item.classList.add('gone');
        all('button, input', item).forEach((control) => { control.disabled = true; });
        const line = document.createElement('p');
        line.className = 'faint';
        line.textContent = 'This was answered elsewhere, or needs nobody any more.';
        item.append(line);
    }

    function showFresh() {
        one('#list').replaceChildren(...waiting.childNodes);
        all('.empty').forEach((empty) => { if (one('[data-item]')) empty.remove(); });
        one('#fresh').hidden = true;
        dress(one('#list'));
    }

    const lives = one('#list, [data-region], #head[data-live]') !== null;
    let asked = false;
    let stale = false;
    async function refresh() {
        if (!lives || asked) { stale = asked; return; }
        if (document.hidden) { stale = true; return; }
        asked = true;
        stale = false;
        try {
            const response = await fetch(location.href, { headers: { 'x-baton-refresh': '1' } });
            if (response.ok && !response.redirected) merge(parse(await response.text()));
        } catch {
            // The stream says so too.
        } finally {
            asked = false;
            if (stale) refresh();
        }
    }
    document.addEventListener('visibilitychange', () => { if (stale) refresh(); });
    // Times go on even where nothing happens.
    setInterval(refresh, 60_000);

    function listen() {
        const offline = one('#offline');
        const source = new EventSource('/console/live');
        source.addEventListener('changed', (event) => {
            offline.hidden = true;
            needs(JSON.parse(event.data).needs);
            refresh();
        });
        source.addEventListener('error', async () => {
            offline.hidden = false;
            if (source.readyState !== EventSource.CLOSED) return;
            // Refused, not lost: mostly since the session is over.
            try {
                const response = await fetch(location.href, { headers: { 'x-baton-refresh': '1' } });
                if (response.redirected) { signedOut(offline); return; }
            } catch {
                // Not there; tried again below.
            }
            setTimeout(listen, 3_000);
        });
        addEventListener('pagehide', () => source.close(), { once: true });
    }

    function signedOut(line) {
        const link = document.createElement('a');
        link.href = location.href;
        link.className = 'link';
        link.textContent = 'Sign in again';
        line.replaceChildren('You are signed out. What you see is from before. ', link);
    }

    // ---- small things ----------------------------------------------------------------------------------------------

    async function copy(text, button) {
        try {
            await navigator.clipboard.writeText(text);
            button.textContent = 'Copied';
        } catch {
            button.textContent = 'Not allowed here';
        }
        setTimeout(() => { button.textContent = button.dataset.label; }, 1_500);
    }

    function dress(root) {
        for (const button of all('[data-copy-link]', root)) {
            button.hidden = false;
            button.dataset.label = button.textContent;
            button.onclick = () => copy(location.href, button);
        }
        for (const block of all('pre[data-copy]:not(:has(.copy))', root)) {
            const text = block.textContent;
            const button = document.createElement('button');
            button.type = 'button';
            button.className = 'copy';
            button.dataset.label = button.textContent = 'Copy';
            button.onclick = () => copy(text, button);
            block.prepend(button);
        }
        for (const select of all('select[data-submits]', root)) select.onchange = () => select.form.requestSubmit();
    }

    document.addEventListener('click', (event) => {
        if (event.target.id === 'fresh') showFresh();
        all('details.confirm[open]').forEach((open) => { if (!open.contains(event.target)) open.open = false; });
    });

    // ---- keys ------------------------------------------------------------------------------------------------------

    const items = () => all('[data-item]');
    const current = () => document.activeElement?.closest('[data-item]') ?? null;

    function neighbour(item, step) {
        const list = items();
        return list[list.indexOf(item) + step] ?? null;
    }

    function focus(item) {
        if (!item) return;
        (item.matches('[tabindex]') ? item : one('[data-open]', item) ?? item).focus();
        item.scrollIntoView({ block: 'nearest' });
    }

    let goes_to = false;
    document.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
        const keys = one('#keys');
        const field = event.target.closest?.('input, textarea, select');
        if (event.key === 'Escape') {
            const open = one('details.confirm[open]');
            if (open) { open.open = false; one('summary', open).focus(); } else if (field) { const item = current(); field.blur(); focus(item); }
            return;
        }
        if (field || keys.open) return;
        if (goes_to) {
            goes_to = false;
            const link = all('nav a[data-key]').find((link) => link.dataset.key === event.key);
            if (link) { event.preventDefault(); link.click(); }
            return;
        }
        const item = current();
        const act = {
            j: () => focus(item ? neighbour(item, 1) : items()[0]),
            k: () => focus(item ? neighbour(item, -1) : items()[0]),
            a: () => one('[data-answer]', item ?? document)?.focus(),
            '/': () => { const search = one('[data-search]'); if (search) search.focus(); else location.assign('/console/tasks#search'); },
            g: () => { goes_to = true; setTimeout(() => { goes_to = false; }, 1_500); },
            '?': () => keys.showModal(),
        }[event.key];
        if (act) { event.preventDefault(); act(); }
        else if (event.key === 'Enter' && item === event.target) { event.preventDefault(); one('[data-open]', item)?.click(); }
    });

    dress(document);
    one('nav [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
    if (location.hash === '#search') one('[data-search]')?.focus();
    listen();
})();
