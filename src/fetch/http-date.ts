/**
 * The time of a `Date` header, in the three forms of HTTP (RFC 9110 section 5.6.7) and in no other: what else can be read as a
 * date, such as a day without a time or the 31st of February, would put the provider's clock hours or years away. Pure.
 */
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '\\d{2}:\\d{2}:\\d{2}';
const form = new RegExp(
  `^(?:${day}, \\d{2} ${month} \\d{4} ${time} GMT|` +
    `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-${month}-\\d{2} ${time} GMT|` +
    `${day} ${month} [ \\d]\\d ${time} \\d{4})$`,
);

/** Milliseconds since the epoch; null for what is none of the three. */
export function httpDateMs(said: string | undefined): number | null {
  if (said === undefined || !form.test(said)) return null;
  // The third names no zone, and would be read in the machine's own.
  const ms = Date.parse(said.endsWith('GMT') ? said : `${said} GMT`);
  // In all three the first number is the day of the month; one that the month has not is read as a day of the next.
  return new Date(ms).getUTCDate() === Number(/\d+/.exec(said)) ? ms : null;
}
