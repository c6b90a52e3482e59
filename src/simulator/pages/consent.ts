// The page on which a user lets the client application in, or declines; OAuth 1 and OAuth 2 use the same one.
// Promises that every name on it is escaped and that declining is as easy as allowing. What an answer leads to is
// decided by the flow that asked.
import type { Request, Response } from 'express';
import type { Provider } from '../provider/provider';
import { escapeHtml, show } from './html';

export interface Consent {
  /** Where the form is posted. */
  action: string;
  hidden: Record<string, string>;
  /** What the client would be able to do, a line each. */
  wants: readonly string[];
  /** The address the user returns to; `oob` for one who copies a verifier. */
  returnsTo: string;
}

const SHOWN_USERS_MAX = 20;

export function consentPage(response: Response, { accounts }: Provider, consent: Consent): void {
  const hidden = Object.entries(consent.hidden).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const users = accounts.users
    .slice(0, SHOWN_USERS_MAX)
    .map(
      ({ name }) =>
        `<button class="main" name="user" value="${escapeHtml(name)}">Allow as ${escapeHtml(name)}</button>`,
    );
  const wants = consent.wants.map((want) => `<li>${escapeHtml(want)}</li>`).join('');
  const back = consent.returnsTo.toLowerCase() === 'oob' ? 'a code to copy' : consent.returnsTo;
  show(
    response,
    'Allow access?',
    `<div class="card"><p><code>${escapeHtml(accounts.clientKey)}</code> asks to use your farm data:</p><ul>${wants}</ul>` +
      `<p>Afterwards you return to <code>${escapeHtml(back)}</code>.</p>` +
      `<form method="post" action="${escapeHtml(consent.action)}">${hidden.join('')}${users.join('')}` +
      `<button class="quiet" name="decision" value="decline">Decline</button></form></div>`,
  );
}

/** A request that cannot be answered: the browser stays here, since nothing says where it may safely go. */
export function refusedPage(response: Response, why: string): void {
  show(response.status(400), 'This request cannot be answered', `<p class="no">${escapeHtml(why)}</p>`);
}

/** The fields of a posted form; a field that came twice counts as absent. */
export function formOf(request: Request): Record<string, string | undefined> {
  const fields = Object.entries((request.body ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    fields.filter((field): field is [string, string] => typeof field[1] === 'string'),
  );
}
