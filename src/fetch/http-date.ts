/**
 * The time of a `Date` header, in the three forms of HTTP (RFC 9110 section 5.6.7) and in no other: what else can be read as a
 * date, such as a day without a time, would put the provider's clock hours or years away. Pure.
 */
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '\\d{2}:\\d{2}:\\d{2}';
const withZone = new RegExp(
  `^(?:${day}, \\d{2} ${month} \\d{4}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \\d{2}-${month}-\\d{2}) ${time} GMT$`,
);
const withoutZone = new RegExp(`^${day} ${month} [ \\d]\\d ${time} \\d{4}$`);

/** Milliseconds since the epoch; null for what is none of the three. */
export function httpDateMs(said: string | undefined): number | null {
  if (said === undefined) return null;
  const text = withoutZone.test(said) ? `${said} GMT` : said;
  const ms = text !== said || withZone.test(said) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
