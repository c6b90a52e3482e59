// The consent address of OAuth 1: the page, and the user's answer. With a callback the browser goes back there; with
// `oob`, in any letter case, token and verifier are shown to be copied.
import express, { type Response, type Router } from 'express';
import { consentPage, formOf, refusedPage } from '../pages/consent';
import { escapeHtml, show } from '../pages/html';
import type { Provider } from '../provider/provider';
import type { OAuth1Flow } from './oauth1-flow';

const UNKNOWN = 'This request is unknown or has been used.';

export function oauth1Consent(provider: Provider, flow: OAuth1Flow): Router {
  const { accounts, coverage } = provider;
  const router = express.Router();
  const answer = (response: Response, token: string, name: string | undefined, approve: boolean): void => {
    const user = accounts.find(name);
    const answered = user && (approve ? flow.authorize(token, user) : flow.decline(token));
    if (!answered) {
      refusedPage(response, user ? UNKNOWN : 'The user is unknown.');
      return;
    }
    coverage.count(approve ? 'oauth1-consent' : 'oauth1-declined');
    if (answered.redirect !== undefined) response.redirect(302, answered.redirect);
    else if (answered.verifier === undefined) show(response, 'Declined', '<p>Nothing was allowed.</p>');
    else {
      coverage.count('oauth1-oob');
      show(response, 'Allowed', shownVerifier(token, answered.verifier));
    }
  };
  router.get('/consent', (request, response) => {
    const token = String(request.query.oauth_token ?? '');
    const pending = flow.find(token);
    if (!pending) return refusedPage(response, UNKNOWN);
    coverage.count('oauth1-page');
    const { consentAnswer } = accounts;
    if (consentAnswer) return answer(response, token, consentAnswer.user.name, consentAnswer.approve);
    consentPage(response, provider, {
      action: '/consent',
      hidden: { oauth_token: token },
      wants: ['everything you can see yourself, for up to a year'],
      returnsTo: pending.callback,
    });
  });
  router.post('/consent', express.urlencoded({ extended: false, limit: '16kb' }), (request, response) => {
    const form = formOf(request);
    const declined = form.decision === 'decline';
    answer(
      response,
      form.oauth_token ?? '',
      form.user ?? (declined ? accounts.users[0]?.name : undefined),
      !declined,
    );
  });
  return router;
}

function shownVerifier(token: string, verifier: string): string {
  return (
    `<div class="card"><p>Copy both into the application.</p><p>Token <code>${escapeHtml(token)}</code></p>` +
    `<p>Verifier <code>${escapeHtml(verifier)}</code></p></div>`
  );
}
