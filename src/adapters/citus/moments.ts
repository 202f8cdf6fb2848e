import { isUnavailable } from '../../core/engine/failures.ts'
import type { Moments } from '../../core/ports/store.ts'
import { postgresMoments } from '../postgres/moments.ts'
import { queryOver } from '../postgres/sql.ts'
import type { Named, Nodes } from './nodes.ts'

/**
 * A moment of a cluster is one of the node of a tenant, or one of each node: `name moment`, a line for each. It is past if
 * each of them is. One of a node that does not answer is not. One of a node that left the cluster is past.
 */
export const citusMoments = ({ nodeOf, withTenants, named }: Nodes): Moments => ({
  now: async (tenantId) => {
    const nodes = tenantId === undefined ? await withTenants() : [await nodeOf(tenantId)]
    const lines = nodes.map(async (node) => `${node.name} ${await momentsAt(node).now()}`)
    return (await Promise.all(lines)).join('\n')
  },

  arePast: async (moments) => {
    const parts = moments.map((moment) => moment.split('\n').map(partOf))
    const names = [...new Set(parts.flat().map(({ name }) => name))].filter((name) => name !== '')
    if (names.length === 0) return moments.map(() => true)
    const running = new Set<string>()
    const notPast = (await named(names)).map(async (node) => {
      const own = parts.flat().filter(({ name }) => name === node.name)
      const arePast = await momentsAt(node)
        .arePast(own.map(({ moment }) => moment))
        .catch((error) => {
          if (!isUnavailable(error)) throw error
          return own.map(() => false)
        })
      for (const [i, { line }] of own.entries()) if (!arePast[i]) running.add(line)
    })
    await Promise.all(notPast)
    return parts.map((lines) => !lines.some(({ line }) => running.has(line)))
  },
})

const momentsAt = ({ ask }: Named): Moments => postgresMoments(queryOver(ask))
const partOf = (line: string) => {
  const [, name = '', moment = ''] = /^(\S+) (\d+ \d+)$/.exec(line) ?? []
  return { line, name, moment }
}
