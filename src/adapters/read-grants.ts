import { readFileSync } from 'node:fs'

/** A privilege on a table, or on one column of it. */
export type Grant = { readonly privilege: string; readonly table: string; readonly column: string | null }

/** What a role needs to serve: the first part of `sql/roles.sql`. */
export const readGrants = (): readonly Grant[] => {
  const text = readFileSync(new URL('../../sql/roles.sql', import.meta.url), 'utf8')
  const [serving = ''] = text.split(/^-- II\./m)
  const statements = serving.replaceAll(/--.*$/gm, '').matchAll(/grant\s+([^;]+?)\s+on\s+([\w,\s]+?)\s+to\s/g)
  return [...statements].flatMap(([, privileges = '', tables = '']) =>
    tables.split(',').flatMap((table) =>
      [...privileges.matchAll(/(\w+)(?:\s*\(([^)]*)\))?/g)].flatMap(([, privilege = '', columns]) =>
        (columns?.split(',') ?? [null]).map((column) => ({
          privilege,
          table: table.trim(),
          column: column?.trim() ?? null,
        })),
      ),
    ),
  )
}
