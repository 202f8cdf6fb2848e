-- When a version is published and unpublished later. It waits as `ready`, or as `published` if it was so before, with `publish`
-- false: a server that knows no schedules leaves it alone. `schedule_note` says why it was not published at its time.
alter table page_versions
  add column publish_at timestamptz(3),
  add column unpublish_at timestamptz(3),
  add column schedule_note text;
alter table pages add column unpublish_at timestamptz(3);

-- What waits for its time: tenant by tenant, so that tenants take turns.
create index page_versions_scheduled on page_versions (tenant_id, publish_at)
  where publish_at is not null and status in ('ready', 'published');
create index pages_scheduled on pages (tenant_id, unpublish_at) where unpublish_at is not null;
-- Those of one page, also while they are processed.
create index page_versions_scheduled_of_page on page_versions (tenant_id, page_id, publish_at, version_id)
  where publish_at is not null;
