/** `?host=/folder` names the folder of a socket, as everywhere with PostgreSQL; the driver does not know it. */
export const withoutSocket = (url: string): { address: string; socket?: { path: string } } => {
  const [, mark = '', folder] = /([?&])host=([^&]*)/.exec(url) ?? []
  if (folder === undefined) return { address: url }
  const port = /@[^/]*:(\d+)/.exec(url)?.[1] ?? '5432'
  const address = url.replace(`${mark}host=${folder}`, mark === '?' ? '?' : '').replace('?&', '?')
  return { address, socket: { path: `${decodeURIComponent(folder)}/.s.PGSQL.${port}` } }
}
