/** What the verbs of several ports share. */
export type Recorded = 'recorded' | 'overtaken'
/**
 * The newest rows older than `beforeId`: one more than `limit`, to show that more follow, or fewer if the texts of all
 * but the last of them already fill a slice.
 */
export type SliceWant = {
  readonly tenantId: string
  readonly beforeId: string | null
  readonly limit: number
}
