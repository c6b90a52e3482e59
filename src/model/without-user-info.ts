/**
 * User info in addresses (`https://name:password@host`), hidden wherever it stands: it is somebody's password, and what
 * comes from outside is stored, shown and told. No such address is ever followed. Pure; imports nothing.
 */

/** What follows a scheme or slashes up to the next separator, in any spelling that a parser takes for an authority. */
const authority = /(https?:[/\\]*|[/\\]{2,})([^/?#\\]*)/gi;

/** The text with `[secret]` in place of each user info. Never throws; looks at each character a bounded number of times. */
export function withoutUserInfo(text: string): string {
  if (!text.includes('@')) return text;
  return text.replace(authority, (whole, before: string, between: string) => {
    const end = between.lastIndexOf('@');
    return end < 0 ? whole : `${before}[secret]${between.slice(end)}`;
  });
}
