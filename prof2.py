import os,sys,time,subprocess,re,collections
# prof.py OUT files... : wall, cpu (wait4), by kind (sampled)
out=sys.argv[1]; tck=os.sysconf('SC_CLK_TCK')
def sample(root,last):
    par={};info={}
    for p in os.listdir('/proc'):
        if not p.isdigit(): continue
        try:
            s=open(f'/proc/{p}/stat').read()
        except OSError: continue
        r=s.rindex(')'); f=s[r+2:].split()
        par[int(p)]=int(f[1]); info[int(p)]=(s[s.index('(')+1:r],(int(f[11])+int(f[12]))/tck)
    mine={root}; ch=True
    kids=collections.defaultdict(list)
    for p,q in par.items(): kids[q].append(p)
    st=[root]
    while st:
        for c in kids[st.pop()]:
            mine.add(c); st.append(c)
    for p in mine:
        if p in info:
            n,c=info[p]
            if p not in last:
                try: cmd=open(f'/proc/{p}/cmdline').read().replace('\0',' ')
                except OSError: cmd=''
            else: cmd=last[p][2]
            if p not in last or n!=last[p][0] or not cmd:
                try: cmd=open(f'/proc/{p}/cmdline').read().replace('\0',' ')
                except OSError: pass
            last[p]=(n,c,cmd)
for f in sys.argv[2:]:
    while os.path.exists('/tmp/hg/QUIET'): time.sleep(5)
    log=open('/tmp/hg/out/fast-prof.log','a')
    t=time.time()
    pr=subprocess.Popen(['timeout','500','/tmp/hg/in.sh','fast','vitest','run',f],stdout=log,stderr=log,env={**os.environ,'NO_COLOR':'1'})
    last={}
    while True:
        p,st,ru=os.wait4(pr.pid,os.WNOHANG)
        if p: break
        sample(pr.pid,last); time.sleep(0.1)
    kinds=collections.Counter();cnt=collections.Counter()
    for p,(n,c,cmd) in last.items():
        k='java' if (cmd.startswith('java') or '/java' in cmd.split(' ')[0]) else 'vitest' if 'vitest' in cmd.split('headgate')[0] or 'forks' in cmd else 'chrome' if 'chrom' in n else 'cmd' if n.startswith(('node','Main','head')) else n
        kinds[k]+=c; cnt[k]+=1
    line=f"{time.time()-t:6.1f} wall {ru.ru_utime+ru.ru_stime:6.1f} cpu st={st} "+' '.join(f'{k}={v:.1f}/{cnt[k]}' for k,v in kinds.most_common(6))+' '+f
    open(out,'a').write(line+'\n')
    import json
    per=collections.Counter()
    for p,(n,c,cmd) in last.items():
        if 'chrom' in n:
            m=re.search(r'--type=(\S+)',cmd); s=re.search(r'--utility-sub-type=(\S+)',cmd)
            per[(m.group(1) if m else 'browser')+(s.group(1) if s else '')]+=c
    open(out,'a').write(str(per)+'\n')
