// `npm start` in a checkout: builds what is not built yet, and becomes the server.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

const PROGRAM = 'dist/cli/bin.js'
const timeOf = (path) => (fs.existsSync(path) ? fs.statSync(path).mtimeMs : 0)

// The Node that is installed with the packages runs everything below.
if (!fs.existsSync('node_modules')) {
  process.stderr.write('Run npm ci first.\n')
  process.exit(1)
}
if (process.execve === undefined) {
  const platform = `${process.platform}-${process.arch}`
  process.stderr.write(
    `There is no Node in the packages for ${platform}: install Node 22.15 or newer; this is ${process.versions.node}\n`,
  )
  process.exit(1)
}
const built = timeOf(PROGRAM)
const sources = ['package.json', 'tsconfig.json', ...fs.globSync('src/**/*.*')]
if (sources.some((source) => timeOf(source) > built)) {
  process.stdout.write(built === 0 ? 'Building … (first start only)\n' : 'Building …\n')
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
// These keep a busy service small: see docs/deploying.md.
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: '65536' }
// Node would warn that `execve` is new.
process.removeAllListeners('warning')
process.execve(process.execPath, [process.execPath, '--max-semi-space-size=32', PROGRAM, 'serve'], env)
