// The words of OAuth 2 scopes: which exist, and how a request for some of them is read.
// Which scope a resource needs is said where the resource is served.

/** Every scope the provider knows, as one value of `scope`. */
export const SCOPES = 'org1 org2 eq1 eq2 ag1 ag2 ag3 files offline_access';

export type Scopes = ReadonlySet<string>;

export const ALL_SCOPES: Scopes = new Set(SCOPES.split(' '));

/** The scopes of a space-separated value; undefined when one of them is unknown or none is named. */
export function readScopes(text: string): Scopes | undefined {
  const scopes = new Set(text.split(' ').filter((scope) => scope !== ''));
  if (scopes.size === 0) return undefined;
  for (const scope of scopes) if (!ALL_SCOPES.has(scope)) return undefined;
  return scopes;
}

export function writeScopes(scopes: Scopes): string {
  return [...scopes].join(' ');
}

/** What a scope means to the person who is asked for it. */
export const SCOPE_WORDS: Readonly<Record<string, string>> = {
  org1: 'see your organizations',
  org2: 'change your organizations',
  eq1: 'see your equipment',
  eq2: 'create and change equipment',
  ag1: 'see your fields and their boundaries',
  ag2: 'see what was done on your fields',
  ag3: 'manage what was done on your fields',
  files: 'see and download your files',
  offline_access: 'go on without asking you again',
};
