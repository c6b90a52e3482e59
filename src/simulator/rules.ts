// Which of the provider's rules are in force on a day: paging forms, field operation fields, the end of OAuth 1.
// Only rules follow this day; timestamps and token lifetimes follow the real clock. Nothing here answers a request.

/** From this day calls with matrix paging parameters or the old paging header fail. */
const OLD_PAGING_FAILS = '2024-06-01';
/** The day `products` and `applicationProductTotals` were announced. The contract names no day: half a year before removal. */
export const NEW_FIELDS_ANNOUNCED = '2024-01-10';
/** From this day the deprecated field operation fields are gone and `products` may hold several entries. */
const OLD_FIELDS_REMOVED = '2024-07-10';
/** From this day the machine and implement endpoints are deprecated; when they end is not said. */
const OLD_EQUIPMENT_DEPRECATED = '2025-01-01';
/** From this day an organization that has not accepted its terms cannot be read. */
const TERMS_ENFORCED = '2020-08-13';
/** From this day the provider requires OAuth 2, unless `oauth1Ends` says otherwise. */
export const OAUTH2_REQUIRED = '2022-05-01';

export type FieldOperationPhase = 'old' | 'both' | 'new';

/** The rules in force. Days are `YYYY-MM-DD`, compared as text. */
export class Rules {
  #today: string | undefined;

  /** `today` undefined: the real date, read at each question. An end that is undefined: never. */
  constructor(
    today: string | undefined,
    readonly oauth1Ends: string | undefined,
    readonly oldEquipmentEnds: string | undefined,
  ) {
    this.#today = today;
  }

  /** Chooses the day whose rules are in force; undefined goes back to the real date. */
  setToday(today: string | undefined): void {
    this.#today = today;
  }

  today(): string {
    return this.#today ?? new Date().toISOString().slice(0, 10);
  }

  oldPagingFails(): boolean {
    return this.today() >= OLD_PAGING_FAILS;
  }

  oauth1Ended(): boolean {
    return this.oauth1Ends !== undefined && this.today() >= this.oauth1Ends;
  }

  termsEnforced(): boolean {
    return this.today() >= TERMS_ENFORCED;
  }

  oldEquipmentDeprecated(): boolean {
    return this.today() >= OLD_EQUIPMENT_DEPRECATED;
  }

  oldEquipmentEnded(): boolean {
    return this.oldEquipmentEnds !== undefined && this.today() >= this.oldEquipmentEnds;
  }

  fieldOperationPhase(): FieldOperationPhase {
    const today = this.today();
    if (today >= OLD_FIELDS_REMOVED) return 'new';
    return today >= NEW_FIELDS_ANNOUNCED ? 'both' : 'old';
  }
}

/** True for a day written `YYYY-MM-DD` that exists in the calendar. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
