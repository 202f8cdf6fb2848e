const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** `90d`, `24h` or `15m` in milliseconds; null if it is none of these. */
export const durationMs = (text: string): number | null => {
  const [, amount, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  return unit === undefined ? null : Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
}
