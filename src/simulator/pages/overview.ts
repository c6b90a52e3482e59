// The simulator's own page with a switch for terms and connection of each organization, and the sites an alert's link
// leads to (terms, connections). Plain forms; the API is served elsewhere.
import express, { type Router } from 'express';
import type { Provider } from '../provider/provider';
import type { Organization } from '../world/organizations';
import { formOf } from './consent';
import { escapeHtml, show } from './html';

const SHOWN_MAX = 200;

/** `/` and everything below `/portal`. */
export function overviewPages(provider: Provider): Router {
  const { accounts, addresses, sandbox, world } = provider;
  const router = express.Router();
  router.use(express.urlencoded({ extended: false, limit: '16kb' }));
  router.get('/', (_request, response) => show(response, 'Simulated provider', overview(provider)));
  router.get('/portal/organizations/:id/terms', (request, response) => {
    const organization = world.organizations.find(request.params.id);
    if (!organization) return show(response.status(404), 'Unknown organization', '');
    show(response, `Terms and conditions of ${organization.name}`, termsForm(organization));
  });
  router.get('/portal/organizations/:id/account', (request, response) => {
    const organization = world.organizations.find(request.params.id);
    if (!organization) return show(response.status(404), 'Unknown organization', '');
    show(response, `Account of ${organization.name}`, actionForm(organization));
  });
  router.post('/portal/organizations/:id', (request, response) => {
    const organization = world.organizations.find(request.params.id);
    if (!organization) return show(response.status(404), 'Unknown organization', '');
    const form = formOf(request);
    const connects = form.connected === 'yes' && !organization.connected;
    if (connects && !sandbox.mayConnect(world.organizations.list))
      return show(
        response.status(409),
        'The sandbox is full',
        '<p class="no">No further organization can be connected.</p>',
      );
    world.organizations.change(organization, {
      ...(form.action === 'done' ? { requiredAction: undefined } : {}),
      ...(form.terms === undefined ? {} : { termsAccepted: form.terms === 'accept' }),
      ...(form.connected === undefined ? {} : { connected: form.connected === 'yes' }),
    });
    response.redirect(
      303,
      form.back
        ? `/portal/organizations/${organization.id}/${form.back === 'terms' ? 'terms' : 'account'}`
        : '/',
    );
  });
  for (const page of ['select-organizations', 'connections-dialog']) {
    router.get(`/portal/connections/${accounts.clientKey}/${page}`, (request, response) => {
      const only = typeof request.query.orgId === 'string' ? request.query.orgId : undefined;
      const shown = world.organizations.list.filter(({ id }) => only === undefined || id === only);
      const back = typeof request.query.redirect_uri === 'string' ? request.query.redirect_uri : undefined;
      const returning =
        back !== undefined && accounts.mayReturnTo(back)
          ? `<p><a href="${escapeHtml(back)}">Return to the application</a></p>`
          : '';
      show(
        response,
        'Connections',
        `<p>Choose what <code>${escapeHtml(accounts.clientKey)}</code> may read.</p>${table(shown.slice(0, SHOWN_MAX))}${returning}`,
      );
    });
  }
  router.get('/portal', (_request, response) => response.redirect(303, addresses.origin));
  return router;
}

function overview({ addresses, rules, vendor, world }: Provider): string {
  const { list } = world.organizations;
  const more = list.length > SHOWN_MAX ? `<p>The first ${SHOWN_MAX} of ${list.length}.</p>` : '';
  return (
    `<p>Vendor <code>${vendor}</code> · catalog <code>${addresses.catalog}</code> · equipment <code>${addresses.equipmentBase}</code> · ` +
    `rules of <strong>${rules.today()}</strong></p>${more}${table(list.slice(0, SHOWN_MAX))}`
  );
}

function table(organizations: readonly Organization[]): string {
  const rows = organizations.map((organization) => {
    const { id, name, termsAccepted, connected, requiredAction } = organization;
    const action = requiredAction ? `<br><span class="no">${escapeHtml(requiredAction.message)}</span>` : '';
    return (
      `<tr><td>${id}</td><td>${escapeHtml(name)}${action}</td>` +
      `<td><div>${mark(termsAccepted, 'accepted', 'not accepted')} ${button(id, 'terms', termsAccepted ? 'withdraw' : 'accept')}</div></td>` +
      `<td><div>${mark(connected, 'connected', 'not connected')} ${button(id, 'connected', connected ? 'no' : 'yes', connected ? 'disconnect' : 'connect')}</div></td></tr>`
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
    '<button class="main" name="terms" value="accept">Accept</button></form>'
  );
}

function actionForm({ id, requiredAction }: Organization): string {
  if (!requiredAction) return '<p class="yes">There is nothing to do.</p>';
  return (
    `<p class="no">${escapeHtml(requiredAction.message)}</p>` +
    `<form method="post" action="/portal/organizations/${id}"><input type="hidden" name="back" value="account">` +
    '<button class="main" name="action" value="done">Done</button></form>'
  );
}
