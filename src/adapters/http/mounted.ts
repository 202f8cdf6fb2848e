/** `/prospects/v0/page_groups?limit=5` becomes `/v0/page_groups?limit=5`; null when outside the base path. */
export const targetUnder = (basePath: string, url: string): string | null => {
  const local = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  if (!local.startsWith(basePath)) return null
  const rest = local.slice(basePath.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : null
}

/** A base path with one slash before it and none after. Empty stays empty. */
export const basePathFrom = (path: string): string => path.replace(/^\/*(?=.)/, '/').replace(/\/+$/, '')
