import { createTogether, type Together } from '../stores/together.ts'
import type { Nodes } from './nodes.ts'

/**
 * Gathers calls by the node of their tenant: each list is for tenants of one node, and is sent there. So it waits for no
 * other node, and stays within one. While the node of a tenant is not known, its calls wait for the look-up.
 */
export const togetherByNode = (
  settings: Parameters<typeof createTogether>[0],
  nameOf: Nodes['nameOf'],
): Together => {
  const together = createTogether(settings)
  const byNode = <Input, Answer>(
    create: () => (input: Input) => Promise<Answer>,
    tenantOf: (input: Input) => string,
  ) => {
    const calls = new Map<string, (input: Input) => Promise<Answer>>()
    const callAt = (node: string, input: Input): Promise<Answer> => {
      const call = calls.get(node) ?? create()
      calls.set(node, call)
      return call(input)
    }
    return (input: Input): Promise<Answer> => {
      const node = nameOf(tenantOf(input))
      return typeof node === 'string' ? callAt(node, input) : node.then((name) => callAt(name, input))
    }
  }
  return {
    read: (verb, readAll, options) =>
      byNode(
        () => together.read(verb, readAll, options),
        ({ tenantId }) => tenantId,
      ),
    write: (verb, recordAll, options) =>
      byNode(() => together.write(verb, recordAll, options), options.tenantOf),
    writeLists: (verb, recordAll, options) =>
      byNode(
        () => together.writeLists(verb, recordAll, options),
        ([first]) => (first === undefined ? '' : options.tenantOf(first)),
      ),
  }
}
