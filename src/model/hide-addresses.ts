/**
 * E-mail addresses in the words of others (a provider's message, a name): a person is named nowhere, neither in what is
 * stored and published nor in what is told. Pure. The ids of our own connections are digested instead, elsewhere.
 */

/** Also as an address on the web writes them. */
const emailAddress = /[^\s<>"'(),;:@]{1,64}(?:@|%40)[^\s<>"'(),;:@]{1,255}/g;

/** The text with `[address]` in place of each e-mail address. */
export function hideAddresses(text: string): string {
  return text.replace(emailAddress, '[address]');
}
