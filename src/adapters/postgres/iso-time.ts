/** `2026-01-31 09:05:00.12+00`: sessions are in UTC, and PostgreSQL omits trailing zeros. */
export const isoFromPostgres = (text: string): string => {
  if (text[4] !== '-') throw new Error('PostgreSQL must write times by the DateStyle ISO.')
  const zone = text.length - 3
  if (!text.endsWith('+00') || zone < 19 || zone > 23) return new Date(text).toISOString()
  const fraction = zone === 19 ? '.' : text.slice(19, zone)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction.padEnd(4, '0')}Z`
}
