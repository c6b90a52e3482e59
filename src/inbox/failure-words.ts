/**
 * What on-call is told of an answer that failed: its stable code is said once, and a status as words. Pure.
 */

/** `answers 503: away` for a status; the detail alone where it names the code, which otherwise stands before it. */
export function failureWords({ code, detail }: { code: string; detail: string }): string {
  const words = code.replace(/^status-/, 'status ');
  if (words !== code && detail.startsWith(words)) return detail.replace('status', 'answers');
  return detail.includes(code) ? detail : `${code}: ${detail}`;
}
