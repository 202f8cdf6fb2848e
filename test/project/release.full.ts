import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { VERSION } from '../../src/config/version.ts'
import { newFolder } from '../support/program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PARTS = ['package.json', 'README.md', 'RELEASING.md', 'CHANGELOG.md', 'Containerfile']
const FOLDERS = ['.ci', 'docs', 'deploy', 'sql', 'src/config', 'test/upgrade/released']

/** The files that a release checks, in a separate folder. */
const copied = (t: Test) => {
  const folder = newFolder(t)
  for (const part of [...PARTS, ...FOLDERS]) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const run = (script: string, argument: string) =>
    spawnSync(join(folder, script), [argument], { encoding: 'utf8' })
  return { folder, read, run }
}

t.test('one command fills in where the project lives', async (t) => {
  const { folder, read, run } = copied(t)
  t.equal(run('.ci/repository', 'acme').status, 2)
  t.equal(run('.ci/repository', 'Acme/Pages').status, 0)
  t.match(JSON.parse(read('package.json')), {
    homepage: 'https://github.com/Acme/Pages#readme',
    bugs: 'https://github.com/Acme/Pages/issues',
    repository: { url: 'git+https://github.com/Acme/Pages.git' },
  })
  t.match(read('deploy/kubernetes.yaml'), `image: ghcr.io/acme/pages:${VERSION}\n`)
  const left = spawnSync('grep', ['-rlE', 'github.com/OWNER|ghcr.io/owner', folder], { encoding: 'utf8' })
  t.equal(
    left.stdout.replaceAll(folder, '').replace('/.ci/repository\n', '').replace('/.ci/published\n', ''),
    '',
  )
})

t.test('a version is released when all its files name it, and nothing says that it is to come', async (t) => {
  const { folder, read, run } = copied(t)
  const faults = run('.ci/releasable', 'v9.9.9')
  t.equal(faults.status, 1)
  for (const file of ['package.json', 'src/config/version.ts', 'Containerfile', 'deploy/kubernetes.yaml'])
    t.match(faults.stderr, `${file} does not say 9.9.9`)
  t.match(run('.ci/releasable', 'v1.0').stderr, 'v and three numbers')

  const date = new RegExp(`^## ${VERSION} .*`, 'm')
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    read('CHANGELOG.md').replace(date, `## ${VERSION} (2026-12-01)`),
  )
  writeFileSync(join(folder, 'README.md'), read('README.md').replace('not released', ''))
  t.match(
    run('.ci/releasable', `v${VERSION}`).stderr,
    'package.json does not say where the project lives: run .ci/repository',
  )
  t.equal(run('.ci/repository', 'Acme/Pages').status, 0)
  // The release saves its databases and the checksums of its migrations.
  const others = run('.ci/releasable', `v${VERSION}`)
    .stderr.split('\n')
    .filter((line) => !line.endsWith(': run node test/upgrade/make.ts'))
  t.strictSame(others, [''])
  writeFileSync(join(folder, 'sql/sqlite/0099_new.sql'), '')
  t.match(run('.ci/releasable', `v${VERSION}`), {
    status: 1,
    stderr: /^sql\/sqlite\/0099_new\.sql is not among/m,
  })
  t.match(run('.ci/releasable', 'v9.9.9').stderr, 'test/upgrade/released has no databases of 9.9.9: run')
})

t.test('workflows use actions by the hash of a commit, and each job has the rights it needs', async (t) => {
  for (const name of ['test', 'release']) {
    const workflow = readFileSync(join(ROOT, `.github/workflows/${name}.yml`), 'utf8')
    for (const [, action = ''] of workflow.matchAll(/uses: (.*)$/gm))
      t.match(action, /^(\.\/\.github\/|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)/)
    const jobs = workflow.slice(workflow.indexOf('\njobs:')).split(/^ {2}(?=\w+:$)/m)
    for (const job of jobs.slice(1))
      if (name === 'release') t.match(job, /^ {4}permissions:$/m, job.split(':')[0] ?? '')
    t.match(workflow, /^permissions:( \{\}|\n {2}contents: read)$/m)
    t.equal(workflow.match(/: write/g)?.length ?? 0, name === 'release' ? 8 : 0)
  }
})
