/**
 * The provider's data as operators see it: documents are normalized, what could not be read becomes a problem with a
 * stable code. What is malformed names its address, what was expected and what came, and ends nothing else.
 */
import { Problem, type ProblemCode } from '../model/problem';
import type {
  DocumentView,
  FileView,
  Listed,
  ListingFault,
  ProviderApi,
  ProviderData,
  RawFault,
  RawItem,
  RawListed,
  RawRead,
  ReferenceView,
} from '../model/provider-data';
import type { ResourceIdentity } from '../model/resource';
import { shownAddress, withAddress } from '../model/shown-address';

type Judged<View> = { ok: true; view: View } | { ok: false; path: string; detail: string };

type Judge<View> = (item: RawItem) => Judged<View> | Promise<Judged<View>>;

export interface ProviderApiDoors {
  /** Asked for once `ready` has resolved. */
  data(): ProviderData;
  /** A document as events carry it, under the id that events are keyed by. Rejects as the store does. */
  document(item: RawItem, kind: 'equipment' | 'field-operation'): Promise<Judged<DocumentView>>;
  file(item: RawItem): Judged<FileView>;
  reference(body: unknown): Judged<ReferenceView>;
  /** Before a first call: what each connection sees must be known. */
  ready(): Promise<void>;
  /**
   * The provider waits for the customer of the organization, or of whoever has what was read: a hint to ask it whether that is
   * so. Rejects as the store does.
   */
  hintRefusal(organizationId: string | null, read: ResourceIdentity | null): Promise<void>;
}

/**
 * What the routes ask of the provider's own data. What the provider refuses rejects as a coded problem that names the
 * address without its secrets.
 */
export function makeProviderApi(doors: ProviderApiDoors): ProviderApi {
  const { ready } = doors;
  /**
   * Who asked is a person, and the refusal is the same as of any other read. It is told also while the store is away, which
   * loses nothing: the next one is a hint as well.
   */
  const hear = async ({ answer, organizationId }: RawFault, read: ResourceIdentity | null): Promise<void> => {
    if (answer?.kind === 'action-required' || answer?.kind === 'not-connected')
      await doors.hintRefusal(organizationId, read).catch(() => {});
  };
  const equipmentView = (item: RawItem) => doors.document(item, 'equipment');
  const operationView = (item: RawItem) => doors.document(item, 'field-operation');
  const ask = async <Value>(
    read: () => Promise<RawRead<Value>>,
    of: ResourceIdentity | null = null,
  ): Promise<Value> => {
    await ready();
    const result = await read();
    if (!('fault' in result)) return result.value;
    await hear(result.fault, of);
    throw problemOf(result.fault);
  };
  const viewOf = async <View>(item: RawItem, judge: Judge<View>): Promise<View> => {
    const judged = await judge(item);
    if (judged.ok) return judged.view;
    throw new Problem('provider.malformed', sentenceOf(item.address, judged));
  };
  async function* views<View>(
    ask: () => AsyncIterable<RawListed>,
    judge: Judge<View>,
  ): AsyncGenerator<Listed<View>> {
    await ready();
    for await (const line of ask()) {
      if ('fault' in line) await hear(line.fault, null);
      yield await viewed(line, judge);
    }
  }
  return {
    equipment: (filter) => views(() => doors.data().equipment(filter), equipmentView),
    async equipmentRecord(id, ...asked) {
      const read = () => doors.data().equipmentRecord(id, ...asked);
      return viewOf(await ask(read, { kind: 'equipment', id }), equipmentView);
    },
    async createEquipment(...asked) {
      const item = await ask(() => doors.data().createEquipment(...asked));
      return 'visible' in item ? item : viewOf(item, equipmentView);
    },
    async updateEquipment(id, ...asked) {
      const update = () => doors.data().updateEquipment(id, ...asked);
      return viewOf(await ask(update, { kind: 'equipment', id }), equipmentView);
    },
    async *reference(kind) {
      const items = await ask(() => doors.data().reference(kind));
      for (const item of items) yield await viewed({ item }, ({ body }) => doors.reference(body));
    },
    fieldOperations: (filter) => views(() => doors.data().fieldOperations(filter), operationView),
    async fieldOperation(id, ...asked) {
      const read = () => doors.data().fieldOperation(id, ...asked);
      return viewOf(await ask(read, { kind: 'field-operation', id }), operationView);
    },
    async measurements(id, ...asked) {
      const read = () => doors.data().measurements(id, ...asked);
      const { operation, values } = await ask(read, { kind: 'field-operation', id });
      // A measurement is only understood beside the products of its operation.
      const body = { ...(operation.body as object), measurementTypes: values };
      const { measurements } = await viewOf({ ...operation, body }, operationView);
      return Array.isArray(measurements) ? measurements : [];
    },
    files: (organizationId) => views(() => doors.data().files(organizationId), doors.file),
    file: async (id) => viewOf(await ask(() => doors.data().file(id)), doors.file),
    fileContent: (...asked) => ask(() => doors.data().fileContent(...asked)),
  };
}

async function viewed<View>(line: RawListed, judge: Judge<View>): Promise<Listed<View>> {
  if ('fault' in line) return { fault: listingFaultOf(line.fault) };
  const { item } = line;
  const judged = await judge(item);
  if (judged.ok) return { item: judged.view };
  const fault = { code: 'provider.malformed' as const, detail: sentenceOf(null, judged) };
  return { fault: { ...fault, address: shownAddress(item.address), organizationId: null, actionUrl: null } };
}

/** The same as a line of a listing. */
export function listingFaultOf({ answer, detail, address, organizationId }: RawFault): ListingFault {
  const actionUrl = answer !== null && 'actionUrl' in answer ? answer.actionUrl : null;
  const shown = address === null ? null : shownAddress(address);
  return {
    code: codeOf(answer, address),
    detail: wordsOf(answer, detail),
    address: shown,
    organizationId,
    actionUrl,
  };
}

/** What a person is told of it. */
export function problemOf(fault: RawFault): Problem {
  const { code, detail, address, actionUrl } = listingFaultOf(fault);
  const todo = actionUrl === null ? '' : `; a customer acts at ${actionUrl}`;
  return new Problem(code, `${withAddress(detail, address)}${todo}`);
}

function codeOf(answer: RawFault['answer'], address: string | null): ProblemCode {
  if (answer === null) return 'provider.malformed';
  switch (answer.kind) {
    case 'address-refused':
      // An address that the provider named is its own fault; one that was only to be made, that of whoever asked.
      return address === null ? 'command.usage' : 'provider.refused';
    case 'gone':
      return 'command.not-found';
    case 'no-connection':
      return answer.nobody ? 'provider.action-required' : 'command.not-found';
    case 'action-required':
    case 'not-connected':
    case 'reauthorize':
      return 'provider.action-required';
    case 'refused':
      // A document came, which was none of a resource.
      return answer.body === undefined ? 'provider.refused' : 'provider.malformed';
    case 'transient':
      return answer.forbidden ? 'provider.refused' : 'provider.unavailable';
    case 'rate-limited':
    case 'aborted':
    case 'not-modified':
      return 'provider.unavailable';
    default:
      return 'provider.refused';
  }
}

const wordsOfKind: Partial<Record<NonNullable<RawFault['answer']>['kind'], string>> = {
  gone: 'the provider has no such thing',
  'action-required': 'the provider waits for the customer',
  'not-connected': 'the customer has not connected the organization',
  reauthorize: 'the provider refuses the token: a user must consent again',
  'client-refused': 'the client lacks a scope or licence for this',
  'no-access': 'the user has no access to this',
  'refused-unattributed': 'the provider refuses this',
  'rate-limited': 'the provider asks for fewer calls',
};

/** Our words, and the provider's where they say more. */
function wordsOf(answer: RawFault['answer'], detail: string): string {
  const words = answer === null ? undefined : wordsOfKind[answer.kind];
  if (words === undefined || answer === null) return detail;
  return detail === answer.kind || detail === words ? words : `${words}: ${detail}`;
}

function sentenceOf(address: string | null, { path, detail }: { path: string; detail: string }): string {
  return withAddress(`${path || 'the document'}: ${detail}`, address);
}
