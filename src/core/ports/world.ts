/** What use cases need besides a store. */
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
