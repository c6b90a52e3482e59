/**
 * The book of connections as this process keeps it: what each sees is listed at the provider, and what that tells of the
 * provider's health, of refused consents and of organizations to connect goes to whom it concerns.
 */
import type { Settings } from '../config';
import { type ConnectionBook, makeConnectionBook } from '../connect/connection-book';
import type { ProviderClient } from '../fetch/provider-client';
import { hearListing, ofNobody } from '../inbox/hear-listing';
import type { Store } from '../model/store';
import type { Observer } from '../observe/observer';
import type { Pipeline } from '../pipeline';
import type { Clock } from '../tools/clock';
import { makeSealer } from '../tools/secret';
import { hearingDoors } from './hearing-doors';
import { catalogOriginOf } from './options';
import { troubleOf } from './trouble-of';

/** What a client asks of the book, which may be made later than the client. */
export function knownBy(
  book: () => ConnectionBook,
): Pick<ConnectionBook, 'connections' | 'sees' | 'unlisted' | 'former'> {
  return {
    connections: () => book().connections(),
    sees: (connectionId) => book().sees(connectionId),
    unlisted: (connectionId) => book().unlisted(connectionId),
    former: (connectionId) => book().former(connectionId),
  };
}

interface BookParts {
  store: Store;
  client: ProviderClient;
  pipeline: Pipeline;
  observer: Observer;
  clock: Clock;
  listsWanted(): void;
}

/** The connections as this process knows them. */
export function bookOf(settings: Settings, parts: BookParts): ConnectionBook {
  const { store, pipeline, clock, listsWanted } = parts;
  return makeConnectionBook({
    store,
    sealer: makeSealer(settings.encryptionKeys ?? []),
    list: listerOf(settings, parts),
    unconnected: pipeline.access.unconnected,
    refused: pipeline.access.refuseGrant,
    keepSights: pipeline.access.keepSights,
    wanted: listsWanted,
    clock,
  });
}

/** Lists what a connection sees; that it could be listed, or not, is news of the provider. */
function listerOf(settings: Settings, { store, client, pipeline, observer, clock }: BookParts) {
  const hearing = hearingDoors(store, pipeline, troubleOf(observer, 'store'), clock);
  return (connectionId: string) =>
    hearListing(
      client.organizations(connectionId),
      { origin: catalogOriginOf(settings), connectionId, ...ofNobody },
      hearing,
    );
}
