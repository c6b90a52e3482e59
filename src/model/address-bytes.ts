/**
 * How long an address may be that the store finds something by: PostgreSQL takes no key of more than 2,704 bytes. What is
 * longer is none of the provider's, since the gate admits none. Pure.
 */

export const addressBytesMax = 2048;

/** Has at most 2,048 bytes as UTF-8, in which it is kept. */
export function isAddressBounded(address: string): boolean {
  return Buffer.byteLength(address) <= addressBytesMax;
}
