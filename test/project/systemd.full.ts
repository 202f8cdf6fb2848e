import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { BIN, linesOf, newFolder, until } from '../support/program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const UNIT = readFileSync(join(ROOT, 'deploy/prospect-pages.service'), 'utf8')
const SYSTEMD = '/usr/lib/systemd/systemd'
const ALONE = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc', '--net']
const skip =
  spawnSync('unshare', [...ALONE, 'test', '-x', SYSTEMD]).status === 0
    ? false
    : 'systemd is not installed, or this user is not root: the unit was not started'

/** systemd as the first process of a machine of its own: this one's files, where what is changed is kept in memory. */
const BOOT = `
set -eu
mount --make-rprivate / && mount -t tmpfs tmpfs "$1"
mkdir "$1/changes" "$1/work" "$1/root" "$1/cgroups"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root" && cd "$1/root"
mount -t cgroup2 cgroup2 ../cgroups && mkdir "../cgroups/trial-$2" && echo 0 > "../cgroups/trial-$2/cgroup.procs"
mount -t proc proc proc && mount --bind proc/sys proc/sys && mount -o remount,ro,bind proc/sys
for folder in dev run tmp var/lib; do mount -t tmpfs tmpfs $folder; done
for device in null zero full random urandom tty; do touch dev/$device && mount --bind /dev/$device dev/$device; done
ln -s pts/ptmx dev/ptmx && mkdir -p dev/shm srv/checkout srv/node && mount --bind "$3" srv/checkout && mount --bind "$4" srv/node
echo '[Unit]' | tee etc/systemd/system/sysinit.target etc/systemd/system/basic.target > /dev/null
printf '[Unit]\\nDefaultDependencies=no\\nWants=dbus.socket systemd-journald.socket systemd-journald-dev-log.socket\\n' > etc/systemd/system/trial.target
printf '#!/bin/sh\\nexec /srv/node/node --no-warnings /srv/checkout/%s "$@"\\n' "$5" > usr/local/bin/prospect-pages
chmod 755 usr/local/bin/prospect-pages
cp srv/checkout/deploy/prospect-pages-run usr/local/sbin
ip link set lo up
exec unshare --cgroup sh -c 'mount -t sysfs -o ro sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup &&
  pivot_root . mnt && umount --lazy /mnt && mount --make-rshared / && exec env container=trial ${SYSTEMD} --system --unit=trial.target --log-level=err --show-status=no'
`

type Answer = Readonly<Record<string, string>> & { readonly checks?: readonly Answer[] }
const boot = async (t: Test) => {
  const args = [newFolder(t), `${process.pid}`, ROOT, dirname(process.execPath), BIN.slice(ROOT.length)]
  const alone = ['--pdeathsig', 'KILL', 'unshare', ...ALONE, 'sh', '-c', BOOT, 'sh', ...args]
  const outer = spawn('setpriv', alone, { stdio: ['ignore', 2, 2] })
  const ended = new Promise((resolve) => outer.once('exit', resolve))
  const first = () => readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim() || '0'
  t.teardown(async () => {
    process.kill(Number(first()), 'SIGKILL')
    await ended
    // The cgroups stay, empty.
    spawnSync('find', [
      '/sys/fs/cgroup',
      '-depth',
      '-path',
      `*/trial-${process.pid}*`,
      '-type',
      'd',
      '-exec',
      'rmdir',
      '{}',
      '+',
    ])
  })
  /** Runs a line of a shell in that machine. */
  const run = (line: string, input = '') => {
    const {
      status,
      stdout = '',
      stderr = '',
    } = spawnSync(
      'nsenter',
      [
        '--target',
        first(),
        ...['--mount', '--pid', '--cgroup', '--uts', '--ipc', '--net', '--root', '--wd'],
        'sh',
        '-c',
        line,
      ],
      {
        encoding: 'utf8',
        input,
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      },
    )
    return { code: status, stdout, stderr }
  }
  await until('systemd runs', () => /running|degraded/.test(run('systemctl is-system-running').stdout))
  return run
}

t.setTimeout(0)
t.test('under systemd the first start loses no key, and commands run as the service', { skip }, async (t) => {
  const run = await boot(t)
  const fine = (line: string, input?: string) => {
    const { code, stdout, stderr } = run(line, input)
    t.equal(code, 0, `${line}: ${stderr}`)
    return stdout
  }
  const setUp = (unit: string) =>
    fine('cat > /etc/systemd/system/prospect-pages.service && systemctl daemon-reload', unit)
  const call = (path: string, key = '') =>
    run(`curl --silent --fail http://127.0.0.1:8081${path} --header 'x-api-key: ${key}'`).stdout
  const restart = async () => {
    fine('systemctl restart prospect-pages')
    await until('it is ready', () => call('/readyz') !== '')
  }
  setUp(UNIT)
  fine('echo PORT=8081 > /etc/prospect-pages.env && chmod 600 /etc/prospect-pages.env')
  await restart()
  t.equal(fine('prospect-pages-run tenants list'), '', 'nothing was created that nobody saw')
  await until('the log says so', () =>
    /there is no API key yet/.test(run('journalctl --unit prospect-pages').stdout),
  )

  const [{ tenantId = '' } = {}] = linesOf<Answer>(fine('prospect-pages-run tenants create --name Acme'))
  const [{ apiKey = '' } = {}] = linesOf<Answer>(
    fine(`prospect-pages-run keys create --tenant ${tenantId} --scope all`),
  )
  t.match(JSON.parse(call('/v0/api_keys/self', apiKey)), { tenantId })
  t.equal(
    fine('find /var/lib/prospect-pages/ ! -user $(stat -c %u /var/lib/prospect-pages/)'),
    '',
    'all files are its own',
  )
  t.match(linesOf(fine('prospect-pages-run keys find', `the key is ${apiKey}`)), [{ tenantId }])
  t.match(run('prospect-pages-run nonsense'), { code: 2, stderr: /nonsense/ })

  // Secrets in files of root: the lines of the unit, as they are uncommented.
  fine('mkdir -m 700 /etc/prospect-pages && openssl rand -base64 32 > /etc/prospect-pages/SECRETS_KEY')
  fine('echo sqlite:/var/lib/prospect-pages/prospect-pages.db > /etc/prospect-pages/DATABASE_URL')
  setUp(UNIT.replace(/^#(?=\w+=)/gm, ''))
  await restart()
  fine(
    `prospect-pages-run api POST /v0/webhook_endpoints '{"url":"https://example.com/","types":["prospect.merged"]}' --tenant ${tenantId}`,
  )
  const doctor = () => linesOf<Answer>(fine('prospect-pages-run doctor')).flatMap(({ checks = [] }) => checks)
  const encryption = () => doctor().find(({ name }) => name === 'encryption')
  t.match(encryption(), { detail: 'each webhook secret is encrypted with SECRETS_KEY' })
  fine('systemctl stop prospect-pages')
  t.match(encryption(), { state: 'ok' }, 'also while the service is stopped')
  t.match(run('systemctl cat prospect-pages-run'), { code: 1 })
})
