// Signing alone, on one core: requests signed by the service's own signer, and the floor, which is the HMAC of node:crypto
// over a base string that is given. It prints both, turn by turn.
import { createHmac } from 'node:crypto';
import { makeSigner } from '../../src/fetch/sign';
import { systemClock } from '../../src/tools/clock';
import { Secret } from '../../src/tools/secret';

const turns = 5;
const requests = 30_000;

const signer = makeSigner({
  clientKey: 'harrow-client-key',
  clientSecret: new Secret('a-client-secret-of-forty-eight-characters-or-so'),
  clock: systemClock,
});
const token = {
  auth: 'oauth1',
  token: new Secret('6f9619ff-8b86-d011-b42d-00c04fc964ff'),
  tokenSecret: new Secret('dG9rZW4tc2VjcmV0L29mK2Jhc2U2ND09'),
} as const;
const addresses = Array.from(
  { length: 100 },
  (_, index) => new URL(`https://api.example/platform/fieldOperations/${index}?embed=measurementTypes`),
);
const text = `GET&https%3A%2F%2Fapi.example%2Fplatform%2FfieldOperations&${'x'.repeat(420)}`;

function perSecond(work: (index: number) => void): number {
  // Processor time: what one core does in a second, whatever else the machine is busy with.
  const before = process.cpuUsage();
  for (let index = 0; index < requests; index += 1) work(index);
  const { user, system } = process.cpuUsage(before);
  return (requests * 1e6) / (user + system);
}

const measured: number[] = [];
const floor: number[] = [];
let chars = 0;
for (let turn = 0; turn <= turns; turn += 1) {
  const signed = perSecond((index) => {
    const url = addresses[index % addresses.length] as URL;
    chars += signer.authorize({ method: 'GET', url }, token)?.length ?? 0;
  });
  const bare = perSecond((index) => {
    chars += createHmac('sha1', 'a-key&another').update(`${text}${index}`).digest('base64').length;
  });
  if (turn === 0) continue;
  measured.push(signed);
  floor.push(bare);
}
process.stdout.write(`${JSON.stringify({ measured, floor, chars })}\n`);
