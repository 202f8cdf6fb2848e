// Takes out of package.json, while the package is packed, what only a checkout needs: its Node and its PostgreSQL, which are
// optional dependencies because only those can be for one platform. `--undo` brings the file back, and so does the next
// packing if this one was interrupted. npm never packs a file that ends in `.orig`.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const MANIFEST = 'package.json'
const ORIGINAL = 'package.json.orig'

if (existsSync(ORIGINAL)) renameSync(ORIGINAL, MANIFEST)
if (process.argv[2] !== '--undo') {
  const original = readFileSync(MANIFEST, 'utf8')
  const { optionalDependencies: _ofTheCheckout, ...published } = JSON.parse(original)
  writeFileSync(ORIGINAL, original)
  writeFileSync(MANIFEST, `${JSON.stringify(published, null, 2)}\n`)
}
