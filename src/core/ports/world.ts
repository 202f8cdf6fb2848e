export type Timestamp = string
/** Milliseconds since 1970. Asked once per use case. */
export type Clock = () => number
export type IdPrefix =
  | 'prospect'
  | 'prospectlog'
  | 'pagegroup'
  | 'page'
  | 'pageversion'
  | 'tenant'
  | 'brand'
  | 'apikey'
/** A new id, greater than every one made before in this process. */
export type NewId = (prefix: IdPrefix) => string
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
