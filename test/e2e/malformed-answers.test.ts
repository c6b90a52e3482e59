/**
 * Goal: a malformed page, entry, link, file or token answer is told with its address, what was expected and what came,
 * without secrets; the rest of the run goes on, nothing half-read is published, and nothing counts as gone.
 * Method: the provider's stand-in answers once with what a test has made of its own answer.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SyncView } from '../../src/model/sync';
import { runCommand } from '../support/command';
import { beginConnectStory } from '../support/connect-story';
import { temporaryFolder } from '../support/service';
import { beginStory, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeAll(async () => {
  story = await beginStory({ delivers: false, settings: { SYNC_INTERVAL_SECONDS: '0' } });
});
afterAll(() => story.end());
afterEach(() => story.simulator.setFaults([]));

const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
const answerOnce = (path: string, body: unknown) =>
  story.simulator.setFaults([{ match: { method: 'GET', path }, times: 1, status: 200, body }]);
const published = async () => (await story.events()).map(({ subject }) => subject);
const keyOf = ({ id, organizationId }: Resource) => `${organizationId}/equipment/${id}`;

async function sync(): Promise<SyncView & { code: number | null; error: string }> {
  const { code, out, error } = await run('sync', '--json');
  return { ...JSON.parse(out), code, error };
}

test('an entry without an id, and one that cannot be read, are told by a sync; what stands beside them is published', async () => {
  const [good, other, missing] = await story.equipment();
  const [one, two] = await Promise.all(
    [good!, other!].map(({ uri }) => story.provided(`${uri}?embed=devices,equipment`)),
  );
  const values = [{ '@type': 'Machine', name: 'Nobody' }, { ...two, name: { of: 'another type' } }, one];
  await answerOnce(`^/isg/equipment\\?organizationIds=${good!.organizationId}`, { links: [], values });
  const { code, partial } = await sync();
  expect(code).toBe(1);
  expect(partial).toEqual([
    {
      scope: `${good!.organizationId}/equipment`,
      detail: expect.stringMatching(
        /^entry 1 of a page: expected an object with an id, got an object without it \(malformed-entry\) at http:\S+\/isg\/equipment\?organizationIds=\d+/,
      ),
    },
  ]);
  await story.untilRest();
  const subjects = await published();
  expect(subjects).toContain(keyOf(good!));
  for (const machine of await story.equipment(1)) expect(subjects).toContain(keyOf(machine));
  expect(subjects).not.toContain(keyOf(missing!));
  // What could not be read in the list was read at its own address.
  const [event] = await story.untilEvents(other!, 1);
  expect((event!.data as { name: string }).name).toBe(other!.content.name);
  expect(await sync()).toMatchObject({ code: 0, partial: [] });
  await story.untilRest();
  const all = await published();
  expect(new Set(all).size).toBe(all.length);
  for (const machine of await story.equipment()) expect(all).toContain(keyOf(machine));
});

test('delivery settings that are none are told with their address, and not shown as empty ones', async () => {
  await answerOnce('/eventSubscriptionDelivery', [1]);
  const { code, out, error } = await run('delivery', 'get');
  expect([code, out]).toEqual([1, '']);
  expect(error).toMatch(
    /the delivery settings: expected an object with a status, got a list \(malformed-document\).*http:\S+\/eventSubscriptionDelivery/,
  );
});

test('a link that cannot be read is told by its relationship, and takes nothing away', async () => {
  const before = (await published()).length;
  const list = await story.provided(`${story.simulator.catalog}organizations?itemLimit=100`);
  const [first, ...others] = list.values as { id: string; links: { rel: string; uri: unknown }[] }[];
  const links = first!.links.map((link) =>
    ['fields', 'self'].includes(link.rel) ? { ...link, uri: 5 } : link,
  );
  await answerOnce('/organizations', { ...list, values: [{ ...first, links }, ...others] });
  const { code, partial } = await sync();
  expect(code).toBe(1);
  const words = 'expected an address in the link `fields`, got number at ';
  const where = `${story.simulator.catalog}organizations?itemLimit=100`;
  expect(JSON.stringify(partial)).toContain(words + where);
  await story.untilRest();
  expect(await published()).toHaveLength(before);
});

test('an address that is not absolute is told with the page that held it, its relationship and what stood there', async () => {
  const [organization] = (await story.simulator.state()).organizations;
  const { id } = organization!;
  const at = `organizations/${id}/fields`;
  const page = await story.provided(`${story.simulator.catalog}${at}?itemLimit=100`);
  const values = (page.values as { links: { rel: string; uri: string }[] }[]).map((field) => ({
    ...field,
    links: field.links.map((link) =>
      link.rel === 'fieldOperation' ? { ...link, uri: '/relative/path?key=canary' } : link,
    ),
  }));
  const words = 'expected an absolute address in the link `fieldOperation`, got `/relative/path`';
  await answerOnce(`/${at}`, { ...page, values });
  const { code, partial } = await sync();
  const [left] = partial;
  expect([code, partial.length, left?.scope]).toEqual([1, 1, `${id}/fields`]);
  expect(left?.detail).toContain(words);
  expect(left?.detail).toContain(`/${at}`);
  await answerOnce(`/${at}`, { ...page, values });
  const listed = await run('field-operations', 'list', '--organization', id);
  expect([listed.code, listed.error]).toEqual([1, expect.stringContaining(words)]);
  expect(listed.error).toMatch(/\(http:\S+\)/);
  const next = [{ rel: 'nextPage', uri: '/isg/equipment?pageOffset=1' }];
  await answerOnce('^/isg/equipment\\?organizationIds=', { links: next, values: [] });
  const equipment = await run('equipment', 'list', '--organization', id);
  const where = 'page 1: expected an absolute address in the link `nextPage`, got `/isg/equipment`';
  expect([equipment.code, equipment.error]).toEqual([1, expect.stringContaining(where)]);
  expect(equipment.error).toContain(`/isg/equipment?organizationIds=${id}`);
  expect([left?.detail, listed.error, equipment.error].join()).not.toContain('canary');
});

test.each<[string, object]>([
  [
    'expected application/octet-stream, got text/html, 27 bytes',
    { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<html>Maintenance</html>   ' },
  ],
  [
    'expected application/octet-stream, got application/vnd.harrow.axiom.v3+json, ',
    {
      headers: { 'content-type': 'application/vnd.harrow.axiom.v3+json' },
      body: { '@type': 'Errors', errors: [] },
    },
  ],
  [
    'bytes as its record says, got a file of 10 ',
    {
      status: 206,
      headers: { 'content-type': 'application/octet-stream', 'content-range': 'bytes 0-9/10' },
      body: '0123456789',
    },
  ],
  [
    'bytes as its record says, got a file of 0 ',
    { headers: { 'content-type': 'application/octet-stream' }, body: '' },
  ],
])('what is answered in a file’s place is not taken for it: %s', async (words, answer) => {
  const listed = await run('files', 'list', '--json');
  const { id } = (JSON.parse(listed.out) as { id: string; bytes: number }[]).find(({ bytes }) => bytes > 0)!;
  const output = join(temporaryFolder(), 'setup.zip');
  writeFileSync(output, 'a good copy');
  const match = { method: 'GET', path: `/files/${id}$` };
  // The record comes first, from the same address.
  await story.simulator.setFaults([
    { match, times: 1, delayMs: 1 },
    { match, times: 1, status: 200, ...answer },
  ]);
  const { code, out, error } = await run('files', 'get', id, '--output', output);
  expect([code, out]).toEqual([1, '']);
  expect(error).toContain(words);
  expect(error).toMatch(new RegExp(`\\(http\\S+/files/${id}\\)`));
  expect(readFileSync(output, 'utf8')).toBe('a good copy');
});

test.each<[string, object, RegExp]>([
  [
    'cannot be read',
    { status: 200, body: '<html>' },
    /expected a JSON document, got \S+, 6 bytes that are no JSON at http:\S+/,
  ],
  ['is not answered', { status: 503 }, /status 503/],
  ['is not there', { status: 404 }, /gone/],
])(
  'a catalog that %s from the beginning is told with its address by whoever lists, and nobody hears that no organization is seen',
  async (_what, answer, told) => {
    const { id } = (await story.simulator.state()).organizations[0]!;
    const settings = {
      ...story.settings(),
      DATABASE_URL: `sqlite:${join(temporaryFolder(), 'tramline.db')}`,
    };
    const catalog = `${new URL(story.simulator.catalog).pathname}$`;
    await story.simulator.setFaults([{ match: { method: 'GET', path: `^${catalog}` }, ...answer }]);
    for (const words of [
      ['equipment', 'list'],
      ['field-operations', 'list', '--organization', id],
    ]) {
      const { code, out, error } = await runCommand(words, settings);
      expect([words, code, out]).toEqual([words, 1, '']);
      expect(error).toMatch(/connection \S+: its list of organizations could not be read: /);
      expect(error).toMatch(told);
      expect(error).toContain(story.simulator.catalog);
    }
    const { code, out, error } = await runCommand(['makes'], settings);
    expect([code, out, error]).toEqual([1, '', expect.stringMatching(told)]);
    expect(error.split(story.simulator.catalog)).toHaveLength(2);
  },
);

test('a file’s record that cannot be read is told with its address, and all files are listed', async () => {
  const list = await story.provided(`${story.simulator.catalog}files?itemLimit=100`);
  const [first, ...others] = list.values as { id: string }[];
  await answerOnce('/files', { ...list, values: [{ ...first, id: { of: 'another type' } }, ...others] });
  const { code, out, error } = await run('files', 'list', '--json');
  expect(code).toBe(1);
  expect(error).toMatch(/\/id.*expected .*\/files\//s);
  // The list of its own organization shows it as it is.
  expect((JSON.parse(out) as unknown[]).length).toBe(others.length + 1);
  await answerOnce(`/files/${first!.id}`, { ...first, id: null });
  const got = await run('files', 'get', first!.id);
  expect([got.code, got.error]).toEqual([1, expect.stringMatching(/expected .*\/files\//s)]);
});

test('a file is fetched whatever the link of another is worth, and one without a link of its own is not said to be none', async () => {
  const list = await story.provided(`${story.simulator.catalog}files?itemLimit=100`);
  const [first, second, ...others] = list.values as { id: string }[];
  const links = [{ rel: 'self', uri: `https://files.example/${first!.id}` }];
  const values = [{ ...first, links }, second, ...others];
  await story.simulator.setFaults([
    { match: { path: '/files($|\\?)' }, status: 200, body: { ...list, values } },
  ]);
  expect((await run('files', 'get', second!.id)).code).toBe(0);
  const refused = await run('files', 'get', first!.id);
  expect(refused.code).toBe(4);
  expect(refused.error).toContain(`https://files.example/${first!.id}`);
  await story.simulator.setFaults([
    { match: { path: '/files($|\\?)' }, status: 200, body: { ...list, values: [{ ...first, links: [] }] } },
  ]);
  const unlinked = await run('files', 'get', first!.id);
  expect([unlinked.code, unlinked.error]).toEqual([
    1,
    expect.stringMatching(/expected a link `self`, got none/),
  ]);
});

test('a token answer that cannot be read connects nobody, is told without what was in it, and the next one does', async () => {
  const stage = await beginConnectStory({ flags: { auth: 'oauth1' } });
  try {
    const user = 'harrow-user-1';
    await stage.story.simulator.setFaults([
      {
        match: { path: '/oauth/access_token' },
        times: 1,
        status: 200,
        body: 'oauth_token=canary-of-a-token',
      },
    ]);
    const refused = stage.connect();
    await stage.consent(refused, user);
    const { code, error } = await refused.ended;
    expect(code).toBe(1);
    expect(error).toMatch(/expected .*oauth_token_secret/);
    const said = [error, ...stage.story.service.lines()].join('\n');
    expect(said).not.toContain('canary-of-a-token');
    expect(await stage.connections()).toEqual([]);
    // A callback that the provider did not take from us may be somebody else's (RFC 5849 section 2.1).
    const given = 'oauth_token=canary-of-a-token&oauth_token_secret=s&oauth_callback_confirmed=false';
    await stage.story.simulator.setFaults([
      { match: { path: '/oauth/request_token' }, times: 1, status: 200, body: given },
    ]);
    const asked = stage.connect('--oob');
    asked.write('the-verifier');
    const unconfirmed = await asked.ended;
    expect([unconfirmed.code, unconfirmed.out, unconfirmed.error]).toEqual([
      1,
      '',
      expect.stringMatching(/request_token: expected oauth_callback_confirmed=true, got another/),
    ]);
    expect(await stage.connections()).toEqual([]);
    const command = stage.connect();
    await stage.consent(command, user);
    expect((await command.ended).code).toBe(0);
    await until(async () => (await stage.connections()).length === 1, soon);
  } finally {
    await stage.story.end();
  }
});
