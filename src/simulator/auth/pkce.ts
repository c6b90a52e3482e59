// Proof Key for Code Exchange, RFC 7636: is a challenge well formed, and does a verifier answer it.
// Only S256: the plain method is refused before it comes here.
import { createHash, timingSafeEqual } from 'node:crypto';

/** RFC 7636 section 4.2: 43 characters, the SHA-256 of a verifier in base64url without padding. */
export function isChallenge(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** RFC 7636 sections 4.1 and 4.6. */
export function answersChallenge(verifier: string | undefined, challenge: string): boolean {
  if (verifier === undefined || !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const digest = Buffer.from(createHash('sha256').update(verifier).digest('base64url'));
  const expected = Buffer.from(challenge);
  return digest.length === expected.length && timingSafeEqual(digest, expected);
}
