// Goal: recorded answers work in suites that deny the network, and what was not recorded is still denied.
// Method: nock, which takes part in every connection as soon as it is imported; hence a suite of its own.
import { get } from 'node:http';
import nock from 'nock';

afterAll(() => nock.restore());

function statusOf(address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(address, (response) => resolve(response.statusCode)).on('error', reject);
  });
}

test('a recorded answer is played', async () => {
  nock('http://provider.invalid').get('/recorded').reply(204);
  expect(await statusOf('http://provider.invalid/recorded')).toBe(204);
});

test('a host of which nothing is recorded is refused', async () => {
  await expect(statusOf('http://other.invalid/')).rejects.toMatchObject({ code: 'ENETWORKDENIED' });
});
