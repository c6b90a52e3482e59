// The floor of a sync: every page of organizations, equipment, fields and operations fetched and parsed through a
// keep-alive agent, with as many listings at once as a sync has; nothing is judged, compared or stored. It prints what it
// was when it has read them all.
import * as http from 'node:http';

const { CATALOG = '', EQUIPMENT = '', TOKEN = '', VENDOR = '', LISTINGS_AT_ONCE = '4' } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
const platform = { Authorization: `Bearer ${TOKEN}`, Accept: `application/vnd.${VENDOR}.axiom.v3+json` };
const equipment = { ...platform, Accept: 'application/json' };

interface Link {
  rel: string;
  uri: string;
}
interface Page {
  links?: Link[];
  link?: Link[];
  values?: { id: string; links?: Link[] }[];
}

const total = { pages: 0, items: 0, bytes: 0 };

function get(address: string, headers: Record<string, string>): Promise<Page> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(address);
    const request = http.get({ agent, headers, hostname, port, path: pathname + search }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        total.pages += 1;
        total.bytes += body.length;
        if (response.statusCode === 200) resolve(JSON.parse(body.toString()) as Page);
        else reject(new Error(`${address}: ${response.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}

const linkOf = ({ links = [] }: { links?: Link[] }, ...rels: string[]) =>
  links.find(({ rel }) => rels.includes(rel))?.uri;

async function follow(
  first: string,
  headers: Record<string, string>,
  seen: (page: Page) => Promise<void> | void,
): Promise<void> {
  for (let address: string | undefined = first; address !== undefined; ) {
    const page: Page = await get(address, headers);
    await seen(page);
    address = linkOf(page, 'nextPage');
  }
}

const waiting: (() => void)[] = [];
let taken = 0;
async function inSlot(work: () => Promise<void>): Promise<void> {
  if (taken >= Number(LISTINGS_AT_ONCE)) await new Promise<void>((resolve) => waiting.push(resolve));
  else taken += 1;
  await work();
  const next = waiting.shift();
  if (next === undefined) taken -= 1;
  else next();
}

const count = (page: Page) => {
  total.items += page.values?.length ?? 0;
};

async function organization(id: string, fields: string | undefined): Promise<void> {
  const list = `${EQUIPMENT}/equipment?organizationIds=${id}&embed=devices%2Cequipment&itemLimit=1000`;
  const ofFields =
    fields === undefined
      ? Promise.resolve()
      : follow(`${fields}?itemLimit=100`, platform, async ({ values = [] }) => {
          await Promise.all(
            values.map((field) =>
              inSlot(() =>
                follow(
                  `${linkOf(field, 'fieldOperation', 'fieldOperations')}?embed=measurementTypes&itemLimit=100`,
                  platform,
                  count,
                ),
              ),
            ),
          );
        });
  await Promise.all([follow(list, equipment, count), ofFields]);
}

async function run(): Promise<void> {
  const startedAt = performance.now();
  const { links, link } = await get(CATALOG, platform);
  const organizations: { id: string; fields: string | undefined }[] = [];
  await follow(
    `${linkOf({ links: links ?? link ?? [] }, 'organizations')}?itemLimit=100`,
    platform,
    (page) => {
      for (const one of page.values ?? []) organizations.push({ id: one.id, fields: linkOf(one, 'fields') });
    },
  );
  const atOnce = 2;
  const lanes = Array.from({ length: atOnce }, async () => {
    for (let one = organizations.shift(); one !== undefined; one = organizations.shift())
      await organization(one.id, one.fields);
  });
  await Promise.all(lanes);
  process.stdout.write(`${JSON.stringify({ ...total, tookMs: performance.now() - startedAt })}\n`);
  process.exit(0);
}

run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
