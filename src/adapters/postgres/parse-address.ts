/**
 * `?host=` and `&port=` name the server, as everywhere with PostgreSQL; a host that is a folder holds a socket. The
 * driver knows them only as options.
 */
export const parseAddress = (url: string) => {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = query.split('&')
  const isServer = (parameter: string) => /^(host|port)=/.test(parameter)
  const others = parameters.filter((parameter) => !isServer(parameter)).join('&')
  const server: { host?: string; port?: number } = Object.fromEntries(
    parameters.filter(isServer).map((parameter) => parameter.split('=').map(decodeURIComponent)),
  )
  return { address: others === '' ? address : `${address}?${others}`, server }
}
