/**
 * Goal: a consent outlives what fails for the moment between its button and its tokens: the user answers once. Where it
 * stays away nobody is connected, both who asked and who answered are told so in words that hold, and no word of the
 * provider's is shown.
 * Method: faults at the issuer alone; a person with a browser, and what `tramline connect` prints.
 */
import { Browser } from '../support/browser';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import type { SimulatorFault } from '../support/simulator';

const issuer = '/signin/oauth2/default';
const token = { method: 'POST', path: `${issuer}/v1/token` };
const user = 'harrow-user-1';
const canary = 'canary-of-a-token-answer';

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({});
});
afterAll(() => stage.story.end());
afterEach(() => stage.story.simulator.setFaults([]));

const strike = (...faults: SimulatorFault[]) => stage.story.simulator.setFaults(faults);
const linkOf = /(http:\/\/127\.0\.0\.1:\d+\/connect\?link=[\w-]+)/;

test('metadata that are not answered leave the link good: the same one connects afterwards', async () => {
  const command = stage.connect();
  const link = await command.untilPrinted(linkOf);
  await strike({ match: { path: `${issuer}/.well-known` }, times: 1, status: 503 });
  const browser = new Browser();
  expect(await browser.press(link)).toMatchObject({
    status: 503,
    text: expect.stringContaining('Try again'),
  });
  const page = await browser.answer(await browser.press(link), user);
  expect(page.status).toBe(200);
  expect((await command.ended).code).toBe(0);
});

test.each<[string, Partial<SimulatorFault>]>([
  ['answers 503', { status: 503, body: canary }],
  ['answers 429', { status: 429, headers: { 'retry-after': '1' } }],
  ['ends the connection', { close: true }],
  ['answers a page', { status: 200, headers: { 'content-type': 'text/html' }, body: `<html>${canary}` }],
  ['is cut in its answer', { status: 200, body: { access_token: canary }, truncateAt: 20 }],
])('a token endpoint that %s twice is asked again, and the user need not be', async (_what, fault) => {
  await strike({ match: token, times: 2, ...fault });
  const command = stage.connect('--user', user);
  expect((await stage.consent(command, user)).status).toBe(200);
  expect((await command.ended).code).toBe(0);
  expect(await stage.connections()).toMatchObject([{ user, status: 'valid' }]);
});

test('one that stays away connects nobody: who answered is told to ask for a new link, and who asked why', async () => {
  const before = await stage.connections();
  await strike({ match: token, times: 100, status: 503, body: canary });
  const command = stage.connect('--user', user);
  const page = await stage.consent(command, user);
  expect(page).toMatchObject({ status: 503, text: expect.stringContaining('ask for a new link') });
  const { code, error } = await command.ended;
  expect([code, error]).toEqual([1, expect.stringMatching(/provider-unavailable.*expected 200, got 503/s)]);
  expect([page.text, error, ...stage.story.service.lines()].join('\n')).not.toContain(canary);
  expect(await stage.connections()).toEqual(before);
});

test('one that asks for a longer pause than a person waits is not asked again', async () => {
  await strike({ match: token, times: 1, status: 503, headers: { 'retry-after': '60' } });
  const command = stage.connect('--user', user);
  expect((await stage.consent(command, user)).status).toBe(503);
  expect((await command.ended).code).toBe(1);
});

test('an answer that was cut after the code was spent is told as no answer, and not as a refusal', async () => {
  await strike({ match: token, times: 1, truncateAt: 10 });
  const command = stage.connect('--user', user);
  expect((await stage.consent(command, user)).status).toBe(503);
  const { code, error } = await command.ended;
  expect([code, error]).toEqual([1, expect.stringContaining('expected an answer, got none')]);
});
