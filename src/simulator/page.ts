// Pages for people: the simulator's own overview with its switches, and the sites an alert's link leads to (terms,
// connections, consent). Plain forms without scripts; every name is escaped. The API is served elsewhere.
import express, { type Response, type Router } from 'express';
import type { OAuth1Flow } from './auth/oauth1-flow';
import type { Provider } from './provider/provider';
import type { Organization } from './world/organizations';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1d2b1f}' +
  'table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #cfd8cf}' +
  'button{font:inherit;padding:.3rem .8rem;border:1px solid #2f6f3e;border-radius:.4rem;background:#fff;cursor:pointer}' +
  '.no{color:#a3270f;font-weight:600}.yes{color:#2f6f3e}form{display:inline}code{background:#eef3ee;padding:.1rem .3rem}';

/** `/` and everything below `/portal` and `/consent`. */
export function pages(provider: Provider, flow: OAuth1Flow): Router {
  const { accounts, addresses, world } = provider;
  const router = express.Router();
  router.use(express.urlencoded({ extended: false, limit: '16kb' }));
  router.get('/', (_request, response) => show(response, 'Simulated provider', overview(provider)));
  router.get('/portal/organizations/:id/terms', (request, response) => {
    const organization = world.organizations.find(request.params.id);
    if (!organization) return show(response.status(404), 'Unknown organization', '');
    show(response, `Terms and conditions of ${organization.name}`, termsForm(organization));
  });
  router.post('/portal/organizations/:id', (request, response) => {
    const organization = world.organizations.find(request.params.id);
    if (!organization) return show(response.status(404), 'Unknown organization', '');
    const form = (request.body ?? {}) as Record<string, string>;
    if (form.terms !== undefined) organization.termsAccepted = form.terms === 'accept';
    if (form.connected !== undefined) organization.connected = form.connected === 'yes';
    response.redirect(303, form.back === 'terms' ? `/portal/organizations/${organization.id}/terms` : '/');
  });
  for (const page of ['select-organizations', 'connections-dialog']) {
    router.get(`/portal/connections/${accounts.clientKey}/${page}`, (request, response) => {
      const only = typeof request.query.orgId === 'string' ? request.query.orgId : undefined;
      const shown = world.organizations.list.filter(({ id }) => only === undefined || id === only);
      show(
        response,
        'Connections',
        `<p>Choose what ${escapeHtml(accounts.clientKey)} may read.</p>${table(shown)}`,
      );
    });
  }
  router.get('/consent', (request, response) => {
    const token = String(request.query.oauth_token ?? '');
    if (!flow.find(token)) return show(response.status(400), 'This request is unknown or has been used', '');
    const users = accounts.users.map(
      ({ name }) => `<button name="user" value="${escapeHtml(name)}">Allow as ${escapeHtml(name)}</button>`,
    );
    show(
      response,
      'Allow access?',
      `<form method="post"><input type="hidden" name="oauth_token" value="${escapeHtml(token)}">${users.join(' ')}</form>`,
    );
  });
  router.post('/consent', (request, response) => {
    const form = (request.body ?? {}) as Record<string, string>;
    const user = accounts.users.find(({ name }) => name === form.user) ?? accounts.users[0]!;
    const granted = flow.authorize(form.oauth_token ?? '', user);
    if (!granted) return show(response.status(400), 'This request is unknown or has been used', '');
    if (granted.redirect !== undefined) return response.redirect(302, granted.redirect);
    show(
      response,
      'Allowed',
      `<p>Token <code>${escapeHtml(form.oauth_token ?? '')}</code></p><p>Verifier <code>${escapeHtml(granted.verifier)}</code></p>`,
    );
  });
  router.get('/portal', (_request, response) => response.redirect(303, addresses.origin));
  return router;
}

function overview({ addresses, rules, vendor, world }: Provider): string {
  return (
    `<p>Vendor <code>${vendor}</code>, catalog <code>${addresses.catalog}</code>, equipment <code>${addresses.equipmentBase}</code>, ` +
    `rules of ${rules.today()}.</p>${table(world.organizations.list.slice(0, 200))}`
  );
}

function table(organizations: readonly Organization[]): string {
  const rows = organizations.map((organization) => {
    const { id, name, termsAccepted, connected } = organization;
    return (
      `<tr><td>${id}</td><td>${escapeHtml(name)}</td>` +
      `<td>${mark(termsAccepted, 'accepted', 'not accepted')} ${button(id, 'terms', termsAccepted ? 'withdraw' : 'accept')}</td>` +
      `<td>${mark(connected, 'connected', 'not connected')} ${button(id, 'connected', connected ? 'no' : 'yes', connected ? 'disconnect' : 'connect')}</td></tr>`
    );
  });
  return `<table><tr><th>Id</th><th>Organization</th><th>Terms</th><th>Connection</th></tr>${rows.join('')}</table>`;
}

function mark(good: boolean, yes: string, no: string): string {
  return good ? `<span class="yes">${yes}</span>` : `<span class="no">${no}</span>`;
}

function button(id: string, name: string, value: string, label = value): string {
  return `<form method="post" action="/portal/organizations/${id}"><button name="${name}" value="${value}">${label}</button></form>`;
}

function termsForm({ id, termsAccepted }: Organization): string {
  if (termsAccepted) return '<p class="yes">The terms are accepted.</p>';
  return (
    '<p>Connected software companies cannot read this organization until its terms are accepted.</p>' +
    `<form method="post" action="/portal/organizations/${id}"><input type="hidden" name="back" value="terms">` +
    '<button name="terms" value="accept">Accept</button></form>'
  );
}

function show(response: Response, title: string, body: string): void {
  response
    .type('html')
    .set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>${STYLE}</style><h1>${escapeHtml(title)}</h1>${body}</html>`,
    );
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
