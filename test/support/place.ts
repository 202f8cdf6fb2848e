import { dirname } from 'node:path'
import { readPostgresAddress } from '../../src/config/postgres-address.ts'

/** The first server of an address as the driver takes it, and the folder of its socket. */
export const placeOf = (url: string) => {
  const { servers, user = '', database = '' } = readPostgresAddress(url)
  const [server = { path: '' }] = servers
  const place = 'path' in server ? { path: server.path } : { host: server.host, port: server.port }
  return { place: { ...place, user, database }, folder: 'path' in server ? dirname(server.path) : '' }
}
