/**
 * What people and commands read from the provider and write to it directly, in the shapes they see. Shapes only. A
 * listing is streamed, and what could not be read of it is one of its lines: it ends nothing else.
 */
import type { NoDocument } from './answer';
import type { ProblemCode } from './problem';

/** Which equipment; empty lists and null mean any. */
export interface EquipmentFilter {
  organizationIds: string[];
  ids: string[];
  serialNumbers: string[];
  category: 'machine' | 'implement' | null;
  archived: boolean | null;
}

export interface FieldOperationFilter {
  /** null: every organization that a connection sees. */
  organizationId: string | null;
  fieldId: string | null;
}

/** What is to be written of a piece of equipment; null stays as it is, or is not sent. */
export interface EquipmentWish {
  category: 'machine' | 'implement' | null;
  name: string | null;
  serialNumber: string | null;
  /** Ids of the reference data. */
  makeId: string | null;
  typeId: string | null;
  modelId: string | null;
}

export type ReferenceKind = 'makes' | 'types' | 'models';

/** What the provider has accepted, and does not show yet. */
export interface AcceptedView {
  /** null where it does not say which it will be. */
  id: string | null;
  organizationId: string;
  visible: false;
}

/** A document as the provider sent it, and where it stands. */
export interface RawItem {
  body: unknown;
  address: string;
  mediaType: string;
  connectionId: string;
}

/** Something that could not be read. */
export interface RawFault {
  /** null: an answer came, but it was not what it should be. */
  answer: NoDocument | null;
  /** What was expected and what came; never a secret. */
  detail: string;
  address: string | null;
  organizationId: string | null;
}

export type RawListed = { item: RawItem } | { fault: RawFault };
export type RawRead<Value> = { value: Value } | { fault: RawFault };

/** The bytes of a file from one place on. */
export interface FileContent {
  /** Where it is read; without what may be secret in it. */
  address: string;
  from: number;
  bytesTotal: number;
  /** As the file's record says it, which is another answer; null when it does not. */
  bytesRecorded: number | null;
  /** Changes with the file (RFC 9110 section 8.8.3); null when the provider names none. */
  version: string | null;
  /** SHA-256 of the whole file, hex, as the provider says it; null when it does not. */
  sha256: string | null;
  /** Throws a Problem where it is cut. */
  chunks: AsyncIterable<Uint8Array>;
}

/** Nothing here throws but `chunks`; listings end with the caller's interest. */
export interface ProviderData {
  equipment(filter: EquipmentFilter): AsyncIterable<RawListed>;
  equipmentRecord(id: string, organizationId: string | null): Promise<RawRead<RawItem>>;
  createEquipment(organizationId: string, wish: EquipmentWish): Promise<RawRead<RawItem | AcceptedView>>;
  updateEquipment(id: string, organizationId: string | null, wish: EquipmentWish): Promise<RawRead<RawItem>>;
  /** Remembered for a day. */
  reference(kind: ReferenceKind): Promise<RawRead<RawItem[]>>;
  fieldOperations(filter: FieldOperationFilter): AsyncIterable<RawListed>;
  fieldOperation(id: string, organizationId: string | null): Promise<RawRead<RawItem>>;
  /** The operation with what its measurement types' own addresses say; only the named one when `name` is given. */
  measurements(
    id: string,
    organizationId: string | null,
    name: string | null,
  ): Promise<RawRead<{ operation: RawItem; values: unknown[] }>>;
  /** Those of one organization, or of the users. */
  files(organizationId: string | null): AsyncIterable<RawListed>;
  file(id: string): Promise<RawRead<RawItem>>;
  /** `version`: what the bytes before `from` were of; null for none. */
  fileContent(id: string, from: number, version: string | null): Promise<RawRead<FileContent>>;
}

/** A line of a listing as it is shown. */
export type Listed<Item> = { item: Item } | { fault: ListingFault };

export interface ListingFault {
  code: ProblemCode;
  detail: string;
  address: string | null;
  organizationId: string | null;
  /** Where a customer acts; null when there is no such place. */
  actionUrl: string | null;
}

/** A normalized document, as events carry it. */
export type DocumentView = { id: string; organizationId: string; [fact: string]: unknown };
export type ReferenceView = { id: string; name: string | null; [fact: string]: unknown };

export interface FileView {
  id: string;
  name: string | null;
  type: string | null;
  /** As the provider says it. */
  bytes: number | null;
  status: string | null;
  createdTime: string | null;
  modifiedTime: string | null;
  archived: boolean | null;
  source: { address: string; mediaType: string };
}

/**
 * The same for operators. Throws `command.not-found`, `provider.refused`, `provider.action-required`,
 * `provider.malformed` and `provider.unavailable`; a listing throws only before its first line.
 */
export interface ProviderApi {
  equipment(filter: EquipmentFilter): AsyncIterable<Listed<DocumentView>>;
  equipmentRecord(id: string, organizationId: string | null): Promise<DocumentView>;
  createEquipment(organizationId: string, wish: EquipmentWish): Promise<DocumentView | AcceptedView>;
  updateEquipment(id: string, organizationId: string | null, wish: EquipmentWish): Promise<DocumentView>;
  reference(kind: ReferenceKind): AsyncIterable<Listed<ReferenceView>>;
  fieldOperations(filter: FieldOperationFilter): AsyncIterable<Listed<DocumentView>>;
  fieldOperation(id: string, organizationId: string | null): Promise<DocumentView>;
  measurements(id: string, organizationId: string | null, name: string | null): Promise<unknown[]>;
  files(organizationId: string | null): AsyncIterable<Listed<FileView>>;
  file(id: string): Promise<FileView>;
  fileContent(id: string, from: number, version: string | null): Promise<FileContent>;
}
