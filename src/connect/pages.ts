/**
 * The pages that a person sees on the way: plain HTML without scripts, every word from outside escaped, no address but
 * those where that person has something to do. Nothing secret is on them. Pure.
 */
import type { ConsentFailure } from '../model/consent';
import type { SeenOrganization } from './connection-book';

export interface Page {
  status: number;
  html: string;
}

/** How many organizations a page names. */
const namedMax = 100;

/** Behind the one-time link. The form goes to the address of the page itself, so that the link is not on it. */
export function beginPage(): Page {
  return page(200, 'Give consent', [
    text('The next page is the provider’s own: you sign in there, and say yes or no. This works once.'),
    '<form method="post"><button>Go on to the provider</button></form>',
  ]);
}

/**
 * `unseen`: how many organizations the connection saw before, and this user was not shown. They are named to nobody
 * here. Names at most 100 organizations.
 */
export function donePage(seen: SeenOrganization[] | null, unseen: number): Page {
  if (seen === null) {
    return page(200, 'Connected', [
      text('Consent was given. Which organizations it is for is being learned now. You can close this page.'),
    ]);
  }
  const open = seen.filter(({ unconnected }) => unconnected);
  const connected = seen.filter(({ unconnected }) => !unconnected);
  return page(200, 'Connected', [
    text(`Consent was given for ${count(seen.length)}. You can close this page.`),
    ...(unseen === 0
      ? []
      : [
          text(
            `It does not show ${count(unseen)} that the consent before it showed. If another user was asked to ` +
              'consent, sign out at the provider and ask for a new link.',
          ),
        ]),
    ...(open.length === 0
      ? []
      : [text('Not connected yet. They are read once someone connects them:'), list(open, 'connect')]),
    ...(connected.length === 0 ? [] : [text('Connected:'), list(connected, 'manage')]),
  ]);
}

const failures: Record<ConsentFailure, [status: number, title: string, sentence: string]> = {
  'consent-declined': [
    200,
    'Not connected',
    'You declined, and nothing was changed. You are not asked again unless you ask for a new link.',
  ],
  'consent-expired': [410, 'Too late', 'This was not answered in time. Ask for a new link.'],
  'consent-refused': [
    400,
    'Not connected',
    'The provider did not accept the request or its answer, or it does not belong to this request. Ask for a new link.',
  ],
  'consent-other-browser': [
    400,
    'Not connected yet',
    'This came back in another browser than the one where it began. Finish it there, or ask for a new link.',
  ],
  'consent-other-user': [
    403,
    'Not connected',
    'Consent was given by another user than the one who was asked. Sign out at the provider and ask for a new link.',
  ],
  'provider-unavailable': [503, 'Not now', 'The provider does not answer now. Try again in a while.'],
  'provider-answer-unusable': [
    502,
    'Not connected',
    'The provider answered in a way that cannot be used. Whoever runs this service can see why.',
  ],
};

/** `more` is a sentence of our own that helps beside it. */
export function failedPage(code: ConsentFailure, more: string | null): Page {
  const [status, title, sentence] = failures[code];
  return page(status, title, [text(sentence), ...(more === null ? [] : [text(more)])]);
}

/** A link that opens nothing, or a return that nobody waits for: a stranger learns no more than that. */
export function unknownPage(): Page {
  return page(404, 'This link is not valid', [
    text('It was used, it ran out, or it never was one. Ask for a new link.'),
  ]);
}

/** A fault of our own. */
export function faultPage(): Page {
  return page(500, 'Something went wrong here', [text('Nothing was connected. Ask for a new link.')]);
}

function count(organizations: number): string {
  return organizations === 1 ? 'one organization' : `${organizations} organizations`;
}

function list(organizations: SeenOrganization[], what: 'connect' | 'manage'): string {
  const items = organizations.slice(0, namedMax).map((organization) => {
    const name = escapeHtml(organization.name ?? organization.id);
    const address = what === 'connect' ? organization.connectUrl : organization.manageUrl;
    const link =
      address === null ? '' : ` – <a href="${escapeHtml(address)}" rel="noreferrer noopener">${what}</a>`;
    return `<li>${name}${link}</li>`;
  });
  const more = organizations.length - namedMax;
  return `<ul>${items.join('')}${more > 0 ? `<li>and ${more} more</li>` : ''}</ul>`;
}

function text(sentence: string): string {
  return `<p>${escapeHtml(sentence)}</p>`;
}

function page(status: number, title: string, parts: string[]): Page {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>`;
  const html = `<!doctype html><html lang="en">${head}<h1>${escapeHtml(title)}</h1>${parts.join('')}</html>\n`;
  return { status, html };
}

function escapeHtml(raw: string): string {
  return raw.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
