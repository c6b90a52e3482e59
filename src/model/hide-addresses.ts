/**
 * E-mail addresses in the words of others (a provider's message, a name): a person is named nowhere, neither in what is
 * stored and published nor in what is told. Pure. The ids of our own connections are digested instead, elsewhere.
 */

/** Also as an address on the web or a page writes them, and with the signs of East Asian keyboards. */
const emailAddress =
  /[^\s<>"'(),;:@\uFF20\uFE6B]{1,64}(?:[@\uFF20\uFE6B]|%(?:25)*40|&(?:amp;)?(?:#64|#x40|commat);)[^\s<>"'(),;:@\uFF20\uFE6B]{1,255}/gi;

/** The text with `[address]` in place of each e-mail address. */
export function hideAddresses(text: string): string {
  return text.replace(emailAddress, '[address]');
}
