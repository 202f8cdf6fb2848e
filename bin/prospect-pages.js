#!/usr/bin/env node
// The command. This file is committed, not built: npx looks for the commands of a checkout once, and needs one that is
// there and executable before the first build.
import { existsSync } from 'node:fs'

const program = new URL('../dist/cli/bin.js', import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  process.stderr.write('prospect-pages is not built yet: run npm ci && npm run build\n')
  process.exitCode = 1
}
