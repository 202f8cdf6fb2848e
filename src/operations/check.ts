/** One thing that the doctor looked at. A check that failed has a remedy. */
export type Check = {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly remedy?: string
}
/** What a store found; `applied` is the number of the last migration, null if it could not be read. */
export type Examined = { readonly checks: readonly Check[]; readonly applied: number | null }

export const passed = (name: string, detail: string): Check => ({ name, ok: true, detail })
export const failed = (name: string, detail: string, remedy: string): Check => ({
  name,
  ok: false,
  detail,
  remedy,
})
