-- Later publications: see the same on PostgreSQL. SQLite passes the content to read these columns, so they are read only of
-- versions with `publish` 0, as all have that were ever scheduled.
alter table page_versions add column publish_at text;
alter table page_versions add column unpublish_at text;
alter table page_versions add column schedule_note text;
alter table pages add column unpublish_at text;

create index page_versions_scheduled on page_versions (tenant_id, publish_at)
  where publish_at is not null and status in ('ready', 'published');
create index pages_scheduled on pages (tenant_id, unpublish_at) where unpublish_at is not null;
create index page_versions_scheduled_of_page on page_versions (tenant_id, page_id, publish_at, version_id)
  where publish_at is not null;
