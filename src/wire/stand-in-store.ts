/**
 * What a check stands on where no store can be opened as it is: one in memory, which ends with the command. So the provider
 * is asked before the first start, and nothing is made or changed for it.
 */
import type { LoadedSettings } from '../config';
import { isProblem, type Problem } from '../model/problem';
import type { Found } from '../operations/check';
import { missingFile, mustHaveCurrentStore, mustHavePlace } from './kept-store';

export interface StandIn {
  /** They name the store in memory; no token of theirs is renewed, since the new one could not be kept. */
  loaded: LoadedSettings;
  /** What a check says of the store that is named; rejects where that fails. */
  sayOfStore(): Promise<Found>;
  /** False: connections are in the store that is named, so that the provider cannot be asked through them. */
  hasConnections: boolean;
  /** False: what else the store that is named holds is not known either. */
  isKnown: boolean;
}

/** null: the store is there and of this version, to be opened as it is. Throws `settings.invalid`, `store.locked`, `store.newer`. */
export async function standInFor(loaded: LoadedSettings, nowMs: number): Promise<StandIn | null> {
  const file = missingFile(loaded.settings);
  if (file !== null) {
    const sayOfStore = async () => {
      mustHavePlace(loaded.settings);
      return {
        detail: `${file} is not there yet: it is made by the first start`,
        next: '`tramline migrate` makes it; where another one was meant, set DATABASE_URL.',
      };
    };
    return { ...inMemory(loaded, nowMs), isKnown: true, sayOfStore };
  }
  try {
    await mustHaveCurrentStore(loaded.settings);
    return null;
  } catch (error) {
    if (!isProblem(error, 'store.older') && !isProblem(error, 'store.unavailable')) throw error;
    return {
      ...inMemory(loaded, nowMs),
      hasConnections: false,
      isKnown: false,
      sayOfStore: () => sayOf(error),
    };
  }
}

async function sayOf(error: Problem): Promise<Found> {
  if (error.code !== 'store.older') throw error;
  return { detail: error.message, next: 'Run `tramline migrate`, and check again.' };
}

function inMemory(loaded: LoadedSettings, nowMs: number): Pick<StandIn, 'loaded' | 'hasConnections'> {
  const given = loaded.settings.providerTokens;
  const usable =
    given?.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > nowMs) ?? null;
  const providerTokens = usable?.map((token) => ({ ...token, refresh: null })) ?? null;
  const databaseUrl = { kind: 'sqlite', path: ':memory:' } as const;
  return {
    loaded: { ...loaded, settings: { ...loaded.settings, databaseUrl, providerTokens } },
    hasConnections: given === null || usable?.length !== 0,
  };
}
