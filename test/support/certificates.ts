// Certificates for tests, made when they are needed and kept in memory: an authority, and what it signs for names, a
// time and whatever else a test wants wrong about it. Written by hand in DER (X.690; RFC 5280 section 4.1), so that no
// program has to be there. Keys are on P-256; nothing here is fit for anything but a test.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Certificate and private key as PEM, as `tls.createServer` takes them. */
export type Certificate = { cert: string; key: string };

export type Wish = {
  /** IPv4 addresses and host names that it is for. */
  names?: string[];
  /** From when and until when it holds; from an hour ago for a day when left out. */
  fromMs?: number;
  untilMs?: number;
};

export type Authority = {
  /** Its own certificate, which somebody who trusts it is given. */
  cert: string;
  issue(wish: Wish): Certificate;
};

const hourMs = 3_600_000;

export function makeAuthority(name = 'An authority of a test'): Authority {
  const { publicKey, privateKey } = newKey();
  const own = { name, key: privateKey };
  return {
    cert: written({ subject: name, publicKey, issuer: own, isAuthority: true }, {}),
    issue(wish) {
      const pair = newKey();
      const about = { subject: 'A server of a test', publicKey: pair.publicKey, issuer: own };
      return { cert: written({ ...about, isAuthority: false }, wish), key: pemOf(pair.privateKey) };
    },
  };
}

/** One that nobody signed but itself. */
export function makeSelfSigned(wish: Wish): Certificate {
  const { publicKey, privateKey } = newKey();
  const subject = 'A server that signed for itself';
  const issuer = { name: subject, key: privateKey };
  return { cert: written({ subject, publicKey, issuer, isAuthority: false }, wish), key: pemOf(privateKey) };
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string;

type About = {
  subject: string;
  publicKey: KeyObject;
  issuer: { name: string; key: KeyObject };
  isAuthority: boolean;
};

function written({ subject, publicKey, issuer, isAuthority }: About, wish: Wish): string {
  const nowMs = Date.now();
  const { names = [], fromMs = nowMs - hourMs, untilMs = nowMs + 24 * hourMs } = wish;
  const algorithm = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const constraints = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  const extensions = [sequence(objectId(0x55, 0x1d, 0x13), tagged(0x04, constraints))];
  if (names.length > 0) {
    extensions.push(sequence(objectId(0x55, 0x1d, 0x11), tagged(0x04, sequence(...names.map(nameOf)))));
  }
  const toBeSigned = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    commonName(issuer.name),
    sequence(timeOf(fromMs), timeOf(untilMs)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', toBeSigned, issuer.key);
  const certificate = sequence(toBeSigned, algorithm, tagged(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  // As short as can be (section 10.1): Java writes what it has read anew before it verifies the signature.
  const bytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, ...parts);
const objectId = (...bytes: number[]): Buffer => tagged(0x06, Buffer.from(bytes));
const commonName = (name: string): Buffer =>
  sequence(tagged(0x31, sequence(objectId(0x55, 0x04, 0x03), tagged(0x0c, Buffer.from(name)))));
/** UTCTime, to the second. */
const timeOf = (ms: number): Buffer => {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return tagged(0x17, Buffer.from(digits.slice(2)));
};
const nameOf = (name: string): Buffer =>
  isIPv4(name) ? tagged(0x87, Buffer.from(name.split('.').map(Number))) : tagged(0x82, Buffer.from(name));
