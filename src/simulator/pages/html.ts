// The frame of every page: title, style, and text that cannot become markup.
// Plain HTML without scripts; what a page says is decided where it is served.
import type { Response } from 'express';

const STYLE =
  ':root{color-scheme:light dark;--ink:#1d2b1f;--paper:#fbfcfa;--line:#cfd8cf;--leaf:#2f6f3e;--rust:#a3270f;--wash:#eef3ee}' +
  '@media(prefers-color-scheme:dark){:root{--ink:#e4ece4;--paper:#141a15;--line:#344036;--leaf:#7cc48d;--rust:#ff9c85;--wash:#202a22}}' +
  'body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2.5rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}' +
  'h1{font-size:1.6rem;line-height:1.2}table{border-collapse:collapse;width:100%}' +
  'th,td{text-align:left;padding:.45rem .6rem;border-bottom:1px solid var(--line);vertical-align:middle}' +
  'button{font:inherit;padding:.35rem .9rem;border:1px solid var(--leaf);border-radius:.4rem;background:transparent;color:var(--leaf);cursor:pointer}' +
  'button.main{background:var(--leaf);color:var(--paper)}button.quiet{border-color:var(--line);color:var(--ink)}' +
  '.no{color:var(--rust);font-weight:600}.yes{color:var(--leaf)}td div{display:flex;justify-content:space-between;align-items:center;gap:.6rem}' +
  'code{background:var(--wash);padding:.1rem .35rem;border-radius:.25rem;overflow-wrap:anywhere}' +
  '.card{border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.4rem;max-width:34rem}.card form{display:flex;gap:.6rem;flex-wrap:wrap;margin-top:1rem}';

/** Sends a page with the status that is set on the response. `body` is markup. */
export function show(response: Response, title: string, body: string): void {
  response
    .type('html')
    .set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
    .set('Cache-Control', 'no-store')
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
        `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><h1>${escapeHtml(title)}</h1>${body}</body></html>`,
    );
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
