/**
 * A secret is a value that refuses to print itself. It is opened by name, where it is used, and nowhere else. Also here:
 * sealing at rest (AES-256-GCM, a nonce per value, the key's id kept for rotation) and comparison in constant time.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';
import { Problem } from '../model/problem';

const hidden = '[secret]';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself: only for signing, sending to its owner, or sealing. */
  open(): string {
    return this.#value;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  [inspect.custom](): string {
    return hidden;
  }
}

/** True when both are equal; takes the same time wherever they differ, and for any lengths. */
export function equalInConstantTime(left: string | Buffer, right: string | Buffer): boolean {
  const digest = (value: string | Buffer) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export interface SealingKey {
  id: string;
  /** 32 bytes. */
  key: Buffer;
}

export interface Sealer {
  /** `context` is bound to the value (additional authenticated data): a row cannot be moved to another owner. */
  seal(secret: Secret, context: string): string;
  /** Throws `store.key-missing` when the key is not configured or the value was altered. */
  unseal(sealed: string, context: string): Secret;
}

/**
 * Seals with the first key and opens with any of them. The form is `keyId.nonce.tag.ciphertext`, base64url. Throws
 * `settings.invalid` where there is no key.
 */
export function makeSealer(keys: SealingKey[]): Sealer {
  const [first] = keys;
  if (first === undefined) throw new Problem('settings.invalid', 'ENCRYPTION_KEYS holds no key');
  return {
    seal(secret, context) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', first.key, nonce).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(secret.open(), 'utf8'), cipher.final()]);
      return [first.id, ...[nonce, cipher.getAuthTag(), text].map((part) => part.toString('base64url'))].join(
        '.',
      );
    },
    unseal(sealed, context) {
      const [id = '', nonce = '', tag = '', text = ''] = sealed.split('.');
      const key = keys.find((candidate) => candidate.id === id);
      if (key === undefined) {
        throw new Problem('store.key-missing', `no encryption key with id ${id || '(none)'} is configured`);
      }
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.key, Buffer.from(nonce, 'base64url'), {
          authTagLength: 16,
        });
        decipher.setAAD(Buffer.from(context)).setAuthTag(Buffer.from(tag, 'base64url'));
        return new Secret(
          Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString('utf8'),
        );
      } catch (cause) {
        throw new Problem('store.key-missing', `a value sealed with key ${id} cannot be opened`, cause);
      }
    },
  };
}
