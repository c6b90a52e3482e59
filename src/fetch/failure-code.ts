/**
 * A stable code for what the network did to a request. Pure; the messages of the platform are not passed on.
 */

/** The codes of a failed exchange besides an attempt's `deadline` and `aborted`. */
const codes: Record<string, string> = {
  EADDRESSPRIVATE: 'address-private',
  ECONNREFUSED: 'connection-refused',
  ECONNRESET: 'connection-reset',
  EPIPE: 'connection-reset',
  ENOTFOUND: 'name-not-resolved',
  EAI_AGAIN: 'name-not-resolved',
  ETIMEDOUT: 'connection-timeout',
  EHOSTUNREACH: 'connection-timeout',
  ENETUNREACH: 'connection-timeout',
};

export function failureCode(error: Error): string {
  const code = String((error as { code?: unknown }).code ?? '');
  const known = codes[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return 'answer-malformed';
  // OpenSSL's verification codes carry no common prefix; all of them name a certificate, a signature or the protocol.
  if (/CERT|SIGNATURE|SSL|TLS|EPROTO/.test(code)) return 'tls-refused';
  return 'network';
}
