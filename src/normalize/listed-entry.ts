/**
 * Entries that are only shown, never published: files, and the makes, types and models of equipment. Read leniently,
 * since nothing depends on them but a person's eye: what cannot be read of them is null, and only an id is required.
 */
import type { FileView, ReferenceView } from '../model/provider-data';
import { asRecord, Fault, ownValue } from './reading';
import { readId } from './scalars';

export type Entry<View> = { ok: true; view: View } | { ok: false; path: string; detail: string };

/** Never throws; texts are cut at 4,096 characters. */
export function readFileEntry(body: unknown, source: FileView['source']): Entry<FileView> {
  return read(body, (record, id) => {
    const bytes = Number(ownValue(record, 'nativeSize') ?? Number.NaN);
    return {
      id,
      name: textOf(record.name),
      type: textOf(record.type),
      bytes: Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
      status: textOf(record.status),
      createdTime: textOf(record.createdTime),
      modifiedTime: textOf(record.modifiedTime),
      // The provider has sent truth values as text.
      archived: record.archived === undefined ? null : String(record.archived) === 'true',
      source,
    };
  });
}

const textCharsMax = 4096;
const shown = ['category', 'certified', 'deprecated', 'marketSegment', 'allowsCustomModel'];

/** Never throws; texts are cut at 4,096 characters. */
export function readReferenceEntry(body: unknown): Entry<ReferenceView> {
  return read(body, (record, id) => {
    const more = shown.flatMap((name) => {
      const said = ownValue(record, name);
      const value = name === 'category' && typeof said === 'string' ? said.toLowerCase() : said;
      return typeof value === 'string' || typeof value === 'boolean' ? [[name, value] as const] : [];
    });
    const erid = textOf(record.ERID);
    return {
      id,
      ...(erid === null ? {} : { erid }),
      name: textOf(record.name),
      ...Object.fromEntries(more),
    };
  });
}

function read<View>(
  body: unknown,
  viewOf: (record: Record<string, unknown>, id: string) => View,
): Entry<View> {
  try {
    const record = asRecord(body, '');
    return { ok: true, view: viewOf(record, readId(ownValue(record, 'id'), '/id')) };
  } catch (error) {
    const { path, message } = error instanceof Fault ? error : { path: '', message: 'it cannot be read' };
    return { ok: false, path, detail: message };
  }
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.slice(0, textCharsMax) : null;
}
